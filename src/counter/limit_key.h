// A LimitKey: the four parts of a request that name its limit, with their hash.
#ifndef SLUICE_COUNTER_LIMIT_KEY_H_
#define SLUICE_COUNTER_LIMIT_KEY_H_

#include <sluice/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "window/cell.h"

namespace sluice {

inline constexpr std::size_t kShortBytes = 16;

// A text of 1 to 16 bytes in two words: its first and its last bytes, eight of each or as many as
// there are for half of it; they may overlap. Together with its size they are the whole text: two
// texts of the same size are equal if their words are.
struct ShortText {
    // Two words that are compared as one.
    using Words [[gnu::vector_size(2 * sizeof(std::uint64_t))]] = std::uint64_t;
    Words words;

    std::uint64_t first() const { return words[0]; }
    std::uint64_t last() const { return words[1]; }

    // `text` is 1 to 16 bytes long.
    [[gnu::always_inline]] static ShortText of(std::string_view text) {
        if (text.size() >= 8) return words_of<std::uint64_t>(text);
        if (text.size() >= 4) return words_of<std::uint32_t>(text);
        if (text.size() >= 2) return words_of<std::uint16_t>(text);
        return words_of<std::uint8_t>(text);
    }

    // The text again, which was `size` bytes long.
    std::string restore(std::size_t size) const {
        const std::size_t word = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
        std::string text(size, '\0');
        const std::uint64_t head = first();
        const std::uint64_t tail = last();
        std::memcpy(text.data(), &head, word);
        std::memcpy(text.data() + size - word, &tail, word);
        return text;
    }

    // All bits that differ, for comparing several texts in one go.
    Words differing(const ShortText& other) const { return words ^ other.words; }

  private:
    template <class Word>
    static ShortText words_of(std::string_view text) {
        Word first;
        Word last;
        std::memcpy(&first, text.data(), sizeof first);
        std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
        return {Words{first, last}};
    }
};

// The hash of a key's texts, seeded per process so that clients can't choose keys of one bucket. It
// hashes one part of a key at a time, in place, and the caller joins the hashes by exclusive or:
// copying the parts together first would make the hash wait for the copy. A short
// text costs one multiplication of its two words, each hidden by a secret; XXH3 hashes the longer
// ones. What a key holds beside its texts, its shape, is multiplied by a secret before it is mixed
// into a text: otherwise a client that chooses both could cancel it. The number of bytes of the
// identifier salts the identifier, everything else in the shape the workspace.
//
// Thread-compatible, and constant after construction.
class KeyHash {
  public:
    explicit KeyHash(std::uint64_t seed) {
        for (ShortText& secret : secrets_)
            secret = ShortText{ShortText::Words{next(seed), next(seed)}};
        multiplier_ = next(seed) | 1U;
    }

    // A different function for each `part` from 0 to 2. The words of a short text don't hold its
    // size, which therefore is part of a salt; XXH3 hashes the size itself.
    std::uint64_t operator()(std::size_t part,
                             const ShortText& text,
                             std::uint64_t salt = 0) const {
        const ShortText& secret = secrets_[part];
        const Wide product =
            Wide{text.first() ^ secret.first()} * (text.last() ^ secret.last() ^ salt);
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
    }
    std::uint64_t operator()(std::size_t part,
                             std::string_view text,
                             std::uint64_t salt = 0) const {
        return XXH3_64bits_withSeed(text.data(), text.size(), secrets_[part].first() ^ salt);
    }

    // The salt that a shape, or a part of it, adds to the hash of a text.
    std::uint64_t salt_of(std::uint64_t shape) const { return shape * multiplier_; }

  private:
    // SplitMix64: spreads one seed over several words.
    static std::uint64_t next(std::uint64_t& state) {
        state += 0x9E37'79B9'7F4A'7C15U;
        std::uint64_t z = state;
        z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBU;
        return z ^ (z >> 31U);
    }

    ShortText secrets_[3];
    std::uint64_t multiplier_;  // odd: different shapes have different salts
};

inline constexpr std::size_t kMaxPartBytes = 2048;

// A key without its texts: the duration, and the sizes of the texts. With it, ("a-b", "c") and
// ("a", "b-c") are two keys although their texts, joined, are the same.
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
        // The joined bits are below a power of two if all numbers are.
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

// Enough to make a LimitKey again. Functions beside the hot path take this: a LimitKey passed to
// them, even by reference, could not live in registers on it.
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
    LimitKey(const Request&& request, const KeyHash& hash) = delete;  // it is borrowed
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

    // The texts are in one of two forms, by the shape.
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
