// Many keys that are asked for at once, each of which has to be read from the origin.
#ifndef SLUICE_BENCH_REGIONAL_COLD_TRIAL_H_
#define SLUICE_BENCH_REGIONAL_COLD_TRIAL_H_

#include <sluice/limiter.h>

#include <cstdint>
#include <vector>

#include "measure/keys.h"

namespace sluice::bench {

struct Asked {
    double seconds;                           // all of it
    std::vector<std::uint32_t> microseconds;  // each of the decisions, in the order of the keys
};

// Has each key decided once, `outstanding` of them at any time: a new one is begun for each that
// ends.
Asked ask_for_all(Limiter& limiter,
                  const std::vector<Key>& keys,
                  std::uint32_t outstanding,
                  std::int64_t cost);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_REGIONAL_COLD_TRIAL_H_
