// The hash of a LimitKey's texts, seeded per process so that nobody outside can aim at one bucket.
#ifndef SLUICE_COUNTER_KEY_HASH_H_
#define SLUICE_COUNTER_KEY_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "counter/short_text.h"
#include "window/cell.h"

namespace sluice {

// KeyHash hashes one part of a key at a time, where it lies, and the caller joins the hashes by
// exclusive or: copying the parts together first would make the hash wait for the copy. A short
// text costs one multiplication of its two words, each hidden by a secret; XXH3 hashes the longer
// ones. What a key holds beside its texts, its shape, is multiplied by a secret before it is mixed
// into a text: as it is, it could be cancelled by whoever chooses both. The number of bytes of the
// identifier salts the identifier, all the rest of the shape the workspace.
//
// Thread-compatible, and constant after construction.
class KeyHash {
  public:
    explicit KeyHash(std::uint64_t seed) {
        for (ShortText& secret : secrets_)
            secret = ShortText{ShortText::Words{next(seed), next(seed)}};
        multiplier_ = next(seed) | 1U;
    }

    // A different function for each `part` from 0 to 2. The words of a short text don't tell its
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

    // What a shape, or a part of it, adds to the hash of a text.
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

}  // namespace sluice

#endif  // SLUICE_COUNTER_KEY_HASH_H_
