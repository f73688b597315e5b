// The hash of texts that clients choose.
#ifndef SLUICE_OVERRIDES_TEXT_HASH_H_
#define SLUICE_OVERRIDES_TEXT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::overrides {

// Seeded, so that nobody can choose texts that collide.
struct TextHash {
    std::uint64_t seed;
    std::size_t operator()(std::string_view text) const;
};

}  // namespace sluice::overrides

#endif  // SLUICE_OVERRIDES_TEXT_HASH_H_
