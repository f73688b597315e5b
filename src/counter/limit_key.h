// A LimitKey: the four parts of a request that name its limit, with their hash.
#ifndef SLUICE_COUNTER_LIMIT_KEY_H_
#define SLUICE_COUNTER_LIMIT_KEY_H_

#include <sluice/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "counter/key_hash.h"
#include "counter/short_text.h"
#include "window/sliding.h"

namespace sluice {

inline constexpr std::size_t kMaxPartBytes = 2048;

// What is left of a key when its texts are taken away: the duration, and where one text ends and
// the next begins. With it, ("a-b", "c") and ("a", "b-c") are two keys although their texts,
// joined, are the same.
class KeyShape {
  public:
    explicit KeyShape(const Request& request)
        : word_(static_cast<std::uint64_t>(request.duration.count()) << (2 * kSizeBits) |
                request.workspace.size() << kSizeBits | request.name_space.size()),
          identifier_bytes_(static_cast<std::uint16_t>(request.identifier.size())) {}

    Duration duration() const { return Duration{word_ >> (2 * kSizeBits)}; }
    std::size_t workspace_bytes() const { return word_ >> kSizeBits & kSizeMask; }
    std::size_t namespace_bytes() const { return word_ & kSizeMask; }
    std::size_t identifier_bytes() const { return identifier_bytes_; }
    std::size_t text_bytes() const {
        return workspace_bytes() + namespace_bytes() + identifier_bytes();
    }

    // Whether all texts have 1 to 16 bytes.
    bool is_short() const {
        return are_short(workspace_bytes(), namespace_bytes(), identifier_bytes());
    }
    static bool is_short(const Request& request) {
        return are_short(
            request.workspace.size(), request.name_space.size(), request.identifier.size());
    }

    // All but the size of the identifier, as a number that is different for different shapes: for
    // the hash, which takes that size by itself. The two don't fit into one word.
    std::uint64_t number() const { return word_; }

    // All bits that differ.
    std::uint64_t differing(const KeyShape& other) const {
        const std::uint64_t sizes = identifier_bytes_ ^ other.identifier_bytes_;
        return (word_ ^ other.word_) | sizes;
    }
    friend bool operator==(const KeyShape& a, const KeyShape& b) { return a.differing(b) == 0; }

  private:
    static bool are_short(std::size_t a, std::size_t b, std::size_t c) {
        // Joining the bits tells whether all numbers are below a power of two.
        return ((a - 1) | (b - 1) | (c - 1)) < kShortBytes;
    }

    // Enough for kMaxPartBytes; leaves 40 bits for a duration in milliseconds.
    static constexpr unsigned kSizeBits = 12;
    static constexpr std::uint64_t kSizeMask = (std::uint64_t{1} << kSizeBits) - 1;
    static_assert(kMaxPartBytes <= kSizeMask);
    static_assert(kMaxDuration.count() >> (64 - 2 * kSizeBits) == 0);

    // Duration in ms, bytes of the workspace, bytes of the namespace: one word, so that comparing
    // is one step.
    std::uint64_t word_;
    std::uint16_t identifier_bytes_;
};

// The texts of a key whose texts are all short.
struct ShortTexts {
    ShortText workspace;
    ShortText name_space;
    ShortText identifier;

    std::uint64_t differing(const ShortTexts& other) const {
        const ShortText::Words words = workspace.differing(other.workspace) |
                                       name_space.differing(other.name_space) |
                                       identifier.differing(other.identifier);
        return words[0] | words[1];
    }
};

// What it takes to make a key again. Functions beside the hot path are given this: a LimitKey that
// was handed to them, even by reference, could not live in registers on it.
struct HashedRequest {
    const Request& request;
    std::uint64_t hash;
};

// LimitKey borrows a request whose parts are valid.
//
// Thread-compatible.
class LimitKey {
  public:
    explicit LimitKey(HashedRequest again) : LimitKey(again.request, again.hash) {}
    [[gnu::always_inline]] LimitKey(const Request& request, const KeyHash& hash)
        : LimitKey(request, std::uint64_t{0}) {
        const std::uint64_t salt = hash.salt_of(shape_.number());
        if (is_short_) [[likely]] {
            hash_ = hash(0, short_.workspace, salt) ^ hash(1, short_.name_space) ^
                    hash(2, short_.identifier, hash.salt_of(shape_.identifier_bytes()));
        } else {
            hash_ = hash_of_long_texts(request, salt, hash);
        }
    }

    HashedRequest hashed_request() const { return {*request_, hash_}; }
    Duration duration() const { return shape_.duration(); }
    const KeyShape& shape() const { return shape_; }
    std::uint64_t hash() const { return hash_; }

    // The texts are in one of two forms; which one, the shape tells.
    bool is_short() const { return is_short_; }
    const ShortTexts& short_texts() const { return short_; }
    // Whether this short key is the one of `shape` and `texts`: one comparison of everything, since
    // a branch for each part costs more than the parts.
    bool is(const KeyShape& shape, const ShortTexts& texts) const {
        return (shape_.differing(shape) | short_.differing(texts)) == 0;
    }
    bool has_long_texts(const char* texts) const { return are_long_texts(*request_, texts); }
    void copy_long_texts(char* to) const;

  private:
    [[gnu::always_inline]] LimitKey(const Request& request, std::uint64_t hash)
        : request_(&request), shape_(request), is_short_(KeyShape::is_short(request)), hash_(hash) {
        if (is_short_) [[likely]] {
            short_ = {ShortText::of(request.workspace),
                      ShortText::of(request.name_space),
                      ShortText::of(request.identifier)};
        }
    }

    // Kept out of line: inlined, they would take registers from the short keys.
    static std::uint64_t hash_of_long_texts(const Request& request,
                                            std::uint64_t salt,
                                            const KeyHash& hash);
    static bool are_long_texts(const Request& request, const char* texts);

    const Request* request_;
    KeyShape shape_;
    bool is_short_;
    ShortTexts short_;  // if is_short_
    std::uint64_t hash_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_LIMIT_KEY_H_
