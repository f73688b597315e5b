// A LimitKey: the four parts that name a limit, with their hash.
#ifndef SLUICE_COUNTER_LIMIT_KEY_H_
#define SLUICE_COUNTER_LIMIT_KEY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "window/sliding.h"

namespace sluice {

inline constexpr std::size_t kMaxPartBytes = 2048;

// The parts of a key, borrowed. Each text is at most kMaxPartBytes long.
struct KeyParts {
    std::string_view workspace;
    std::string_view name_space;
    std::string_view identifier;
    Duration duration;

    friend bool operator==(const KeyParts&, const KeyParts&) = default;
};

// What is left of a key when its texts are taken away: the duration, and where one text ends and the next begins.
// With it, ("a-b", "c") and ("a", "b-c") are two keys although their texts, joined, are the same.
struct KeyShape {
    explicit KeyShape(const KeyParts& parts)
        : duration_ms(static_cast<std::uint32_t>(parts.duration.count())),
          workspace_bytes(static_cast<std::uint16_t>(parts.workspace.size())),
          namespace_bytes(static_cast<std::uint16_t>(parts.name_space.size())),
          identifier_bytes(static_cast<std::uint16_t>(parts.identifier.size())) {}

    std::size_t text_bytes() const {
        return std::size_t{workspace_bytes} + namespace_bytes + identifier_bytes;
    }
    friend bool operator==(const KeyShape&, const KeyShape&) = default;

    std::uint32_t duration_ms;
    std::uint16_t workspace_bytes;
    std::uint16_t namespace_bytes;
    std::uint16_t identifier_bytes;
};

// LimitKey borrows its parts, and hashes each where it lies: copying them together first would make the hash wait for
// the copy.
//
// Thread-compatible.
class LimitKey {
  public:
    LimitKey(const KeyParts& parts, std::uint64_t seed) : parts_(parts), shape_(parts) {
        // A seed for each part, so that equal texts in two places don't cancel out; the duration changes them all.
        seed ^= static_cast<std::uint64_t>(parts.duration.count()) * 0x9E37'79B9'7F4A'7C15U;
        hash_ = hash_of(parts.workspace, seed) ^ hash_of(parts.name_space, seed + 1) ^
                hash_of(parts.identifier, seed + 2);
    }

    const KeyParts& parts() const { return parts_; }
    const KeyShape& shape() const { return shape_; }
    std::uint64_t hash() const { return hash_; }

    // Whether `texts` holds the texts of this key, one after the other. It must have the same shape.
    bool has_texts(const char* texts) const {
        const char* const name_space = texts + shape_.workspace_bytes;
        const char* const identifier = name_space + shape_.namespace_bytes;
        return equal(parts_.identifier, identifier) && equal(parts_.name_space, name_space) &&
               equal(parts_.workspace, texts);
    }

    void copy_texts(char* to) const {
        for (const std::string_view part : {parts_.workspace, parts_.name_space, parts_.identifier}) {
            std::memcpy(to, part.data(), part.size());
            to += part.size();
        }
    }

  private:
    static std::uint64_t hash_of(std::string_view part, std::uint64_t seed) {
        return XXH3_64bits_withSeed(part.data(), part.size(), seed);
    }
    static bool equal(std::string_view part, const char* bytes) {
        return equal_bytes(part.data(), bytes, part.size());
    }

    KeyParts parts_;
    KeyShape shape_;
    std::uint64_t hash_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_LIMIT_KEY_H_
