// When nothing that goes wrong can excuse a node for not knowing what others did.
#ifndef SLUICE_SIM_QUIET_H_
#define SLUICE_SIM_QUIET_H_

#include <cstdint>
#include <vector>

#include "sim/options.h"

namespace sluice::sim {

// Reads the plan of a run. A fault disturbs until it has ended and there was time to recover: 12 s
// for a region, 6 intervals of publishing for what the regions know of each other.
//
// Thread-compatible.
class Quiet {
  public:
    explicit Quiet(const Options& options);

    // Whether nothing disturbed the nodes of a region, and their way to the origin, between two
    // moments.
    bool is_region_quiet(std::uint32_t region, Moment from, Moment to) const;
    // The same for all regions, and their way to the store.
    bool is_world_quiet(Moment from, Moment to) const;

    // Whether a fault comes between nodes of the region and their origin, or stops such a node.
    static bool strikes(const Fault& fault, std::uint32_t region, const Options& options);

    // Whether a request that waits for the call before its own is answered in time.
    bool is_prompt() const { return is_prompt_; }

  private:
    struct Disturbance {
        Moment from;
        Moment to;
    };
    static bool is_free(const std::vector<Disturbance>& all, Moment from, Moment to);

    bool is_lossy_ = false;  // messages get lost, or are late, during the whole run
    bool is_prompt_ = true;
    std::vector<std::vector<Disturbance>> regions_;
    std::vector<Disturbance> world_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_QUIET_H_
