// One run of the simulator, its result, and reports of it.
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

// The result of a run. All numbers are integers, and the same on every machine.
struct RunResult {
    std::optional<std::string> failure;  // the first check that failed
    Moment failed_at{0};

    struct Region {
        Node::Totals totals;
        std::uint64_t origin_bytes = 0;
        std::vector<Fleet::Decided> over_time;
    };
    std::vector<Region> regions;
    Utilization contended;  // windows with a demand of at least the limit
    Utilization fixed;      // all windows
    Permille worst_trailing = 0;
    Permille worst_effective = 0;  // sliding sum after a pass, of everything admitted
    std::vector<Permille> over_time;
    std::vector<Recovery> recoveries;
    std::uint64_t decisions = 0;
    std::uint64_t passed = 0;
    std::uint64_t false_denials = 0;
    std::uint64_t unserved = 0;
    std::uint64_t checked_views = 0;
    std::uint64_t store_bytes = 0;
    std::uint64_t store_statements = 0;  // that published rows
    std::uint64_t bus_messages = 0;
    std::uint64_t announcements = 0;
    // What may be admitted in a window, of the limit; none for one region, and for policies without
    // a bound.
    std::optional<Permille> bound;
    std::uint64_t events = 0;

    // Mean of the contended windows; of all windows if there are none.
    Permille steady() const { return contended.windows != 0 ? contended.mean() : fixed.mean(); }
};

// Calls `progress` with the virtual time at intervals, and writes the last events to `trace`. Both
// are optional.
RunResult run(const Options& options,
              const std::function<void(Moment)>& progress = {},
              std::ostream* trace = nullptr);

// Reports as text and as JSON. `command` replays the run.
void write_report(const Options& options,
                  const RunResult& result,
                  const std::string& command,
                  std::ostream& out);
void write_json(const Options& options,
                const RunResult& result,
                const std::string& command,
                std::ostream& out);

// Formats 1530 as 1.53.
std::string times_text(Permille part);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_RUN_H_
