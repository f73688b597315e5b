// Chance, and a tally of what it did.
#ifndef SLUICE_TESTS_REDIS_PROXY_DICE_H_
#define SLUICE_TESTS_REDIS_PROXY_DICE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>

#include "base/mutex.h"
#include "redis/proxy/faults.h"

namespace sluice::redis_test {

// Thread-safe: the test sets faults and reads counts while the proxy's thread draws.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    void set(const Faults& faults);
    FaultCounts counts() const;

    // Whether this fault should happen now.
    bool draw(double Faults::*fault);
    // Whether it could.
    bool allows(double Faults::*fault) const;
    void count(std::uint64_t FaultCounts::*fault);

    // From 0 to the longest delay.
    std::chrono::microseconds delay();
    // From `least` to `most`.
    std::size_t number(std::size_t least, std::size_t most);

  private:
    mutable Mutex mutex_;
    Faults faults_ SLUICE_GUARDED_BY(mutex_);
    FaultCounts counts_ SLUICE_GUARDED_BY(mutex_);
    std::mt19937_64 random_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_REDIS_PROXY_DICE_H_
