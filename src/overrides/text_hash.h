// The hash of texts that clients choose.
#ifndef SLUICE_OVERRIDES_TEXT_HASH_H_
#define SLUICE_OVERRIDES_TEXT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "overrides/override.h"

namespace sluice::overrides {

// Seeded, so that nobody can choose texts that collide.
struct TextHash {
    std::uint64_t seed;
    std::size_t operator()(std::string_view text) const;
};

// The same for a namespace. A seed for each part, so that equal texts in both don't cancel out.
std::size_t hash_of(const NamespaceKey& key, std::uint64_t seed);

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_TEXT_HASH_H_
