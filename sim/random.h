// Randomness that is the same on every machine.
#ifndef SLUICE_SIM_RANDOM_H_
#define SLUICE_SIM_RANDOM_H_

#include <cstdint>

#include "window/cell.h"

namespace sluice::sim {

// SplitMix64, and integers only: the distributions of the standard library differ between its
// implementations.
//
// Thread-compatible.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E37'79B9'7F4A'7C15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
        return mixed ^ (mixed >> 31U);
    }

    // 0 to bound - 1; 0 for a bound of 0.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>(Wide{next()} * bound >> 64U);
    }
    // Both ends included.
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least +
               static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
    }
    bool permille(std::uint64_t chance) { return chance != 0 && below(1'000) < chance; }

  private:
    std::uint64_t state_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_RANDOM_H_
