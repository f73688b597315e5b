// An override: another limit for the identifiers that a pattern names.
#ifndef SLUICE_OVERRIDES_OVERRIDE_H_
#define SLUICE_OVERRIDES_OVERRIDE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "counter/limit_key.h"

namespace sluice::overrides {

struct NamespaceKey {
    std::string_view workspace;
    std::string_view name_space;
    friend bool operator==(const NamespaceKey&, const NamespaceKey&) = default;
};

// A different hash for each part, so that equal texts in both don't cancel out.
inline std::uint64_t hash_of(const NamespaceKey& key, const KeyHash& hash) {
    return hash(0, key.workspace) ^ hash(1, key.name_space);
}

// Names one override. The identifier is the pattern as it was set; in it, `*` stands for any run of
// bytes.
struct OverrideKey {
    std::string_view workspace;
    std::string_view name_space;
    std::string_view identifier;

    NamespaceKey namespace_key() const { return {workspace, name_space}; }
};

// The limit and the duration that an override sets. A limit of 0 is a ban.
struct Grant {
    std::int64_t limit;                  // 0 to 2^53 - 1
    std::chrono::milliseconds duration;  // 1 second to 366 days
    friend bool operator==(const Grant&, const Grant&) = default;
};

struct Override {
    std::string workspace;
    std::string name_space;
    std::string identifier;
    std::string id;  // "rlor_..."; the same as long as the override exists, whatever it grants
    Grant grant;
    std::uint64_t order;  // grows with each override that is created: the lower one is the older

    friend bool operator==(const Override&, const Override&) = default;
    OverrideKey key() const { return {workspace, name_space, identifier}; }
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_OVERRIDE_H_
