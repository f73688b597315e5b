// The seeded hash that the floor and every table candidate use.
#ifndef SLUICE_BENCH_MEASURE_HASH_H_
#define SLUICE_BENCH_MEASURE_HASH_H_

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice::bench {

inline std::uint64_t hash_of(std::string_view bytes) {
    constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15;
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), kSeed);
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_MEASURE_HASH_H_
