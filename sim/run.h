// One run of the simulator, from its options to what came of it.
#ifndef SLUICE_SIM_RUN_H_
#define SLUICE_SIM_RUN_H_

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/fleet.h"
#include "sim/options.h"

namespace sluice::sim {

// What came of a run. All numbers are whole, so that they are the same everywhere.
struct Outcome {
    std::optional<std::string> failure;  // what was wrong, if anything was
    Moment failed_at{0};

    struct Region {
        Node::Totals totals;
        std::uint64_t origin_bytes = 0;
    };
    std::vector<Region> regions;
    Closeness contended;  // windows in which more was wanted than the limit
    Closeness fixed;      // all windows
    Permille worst_trailing = 0;
    Permille worst_effective = 0;  // what counted after a pass, by all that was admitted
    std::vector<Permille> over_time;
    std::vector<Recovery> recoveries;
    std::uint64_t decisions = 0;
    std::uint64_t passed = 0;
    std::uint64_t false_denials = 0;
    std::uint64_t unserved = 0;
    std::uint64_t checked_views = 0;
    std::uint64_t store_bytes = 0;
    std::uint64_t events = 0;

    // Of the limit, in windows that want all of it; in all, if there are none.
    Permille steady() const { return contended.windows != 0 ? contended.mean() : fixed.mean(); }
};

// `progress` is told the time now and then; `trace` is where to write what happened last. Either
// may be empty.
Outcome run(const Options& options,
            const std::function<void(Moment)>& progress = {},
            std::ostream* trace = nullptr);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_RUN_H_
