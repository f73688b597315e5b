// Who asks, when, where, and for what.
#ifndef SLUICE_SIM_ARRIVALS_H_
#define SLUICE_SIM_ARRIVALS_H_

#include <cstdint>
#include <vector>

#include "sim/options.h"
#include "sim/random.h"
#include "sim/scheduler.h"
#include "sim/truth.h"

namespace sluice::sim {

// An open loop: requests come whether earlier ones were answered or not.
//
// Thread-compatible.
class Arrivals {
  public:
    Arrivals(const Options& options, Truth& truth, std::uint64_t seed);

    // When the next request comes.
    Moment next() const { return next_; }

    struct Arrival {
        std::uint32_t region;
        KeyIndex key;
        Count cost;
        bool is_batch;
        std::uint64_t chance;  // that chooses a node
    };
    // The request that comes next, and the same taken, after which another one is drawn.
    const Arrival& coming() const { return coming_; }
    Arrival take();
    // One more of a batch, for the same region.
    KeyIndex another_key(const Arrival& first);
    Count cost();

    Permille burst = 1'000;  // how much faster they come at the moment

  private:
    KeyIndex choose_key();
    std::uint64_t gap(std::uint64_t mean);
    std::uint32_t home_of(KeyIndex key) const;
    bool is_shared(KeyIndex key) const;  // with a second region, where keys have one
    std::uint32_t choose_region(KeyIndex key);
    void draw();

    const Options& options_;
    const Load& load_;
    Truth& truth_;
    Random random_;
    Moment next_{0};
    Arrival coming_{};
    std::uint64_t mean_ns_ = 0;
    std::vector<std::uint64_t> zipf_;  // weights of the regions, summed up
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_ARRIVALS_H_
