// The load generator: arrival times, regions, keys and costs of requests.
#ifndef SLUICE_SIM_ARRIVALS_H_
#define SLUICE_SIM_ARRIVALS_H_

#include <cstdint>
#include <vector>

#include "sim/options.h"
#include "sim/scheduler.h"
#include "sim/truth.h"

namespace sluice::sim {

// An open loop: requests arrive regardless of whether earlier ones were answered.
//
// Thread-compatible.
class Arrivals {
  public:
    Arrivals(const Options& options, Truth& truth, std::uint64_t seed);

    Moment next() const { return next_; }

    struct Arrival {
        std::uint32_t region;
        KeyIndex key;
        Count cost;
        bool is_batch;
        std::uint64_t chance;  // random number that selects a node
    };
    // The next request; take() returns it and draws another one.
    const Arrival& coming() const { return coming_; }
    Arrival take();
    // Another key for a batch, in the same region.
    KeyIndex another_key(const Arrival& first);
    Count cost();

    Permille burst = 1'000;  // current speed-up of the arrival rate

  private:
    KeyIndex choose_key();
    std::uint64_t gap(std::uint64_t mean);
    std::uint32_t home_of(KeyIndex key) const;
    bool is_shared(KeyIndex key) const;  // also requested in a second region (Spread::kSingle)
    std::uint32_t choose_region(KeyIndex key);
    void draw();

    const Options& options_;
    const Load& load_;
    Truth& truth_;
    Random random_;
    Moment next_{0};
    Arrival coming_{};
    std::uint64_t mean_ns_ = 0;
    std::vector<std::uint64_t> zipf_;  // cumulative weights of the regions
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_ARRIVALS_H_
