// Measures the sharing rule: how far the nodes of one region exceed a limit, and how often they
// wait for their origin and call it. One line per case: its columns, a tab, and what was measured,
// separated by spaces. `scripts/sharing` makes the tables of docs/decisions from runs of programs
// that were built with different constants.
//     sim_sharing PARTS
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/options.h"
#include "sim/run.h"

namespace sluice::sim {
namespace {

using std::chrono::seconds;

constexpr std::array<std::uint32_t, 5> kNodes = {2, 5, 9, 17, 33};
constexpr std::array<Count, 5> kLimits = {5, 20, 108, 1'000, 10'000};
constexpr std::array<Permille, 4> kLoads = {900, 1'500, 5'000, 30'000};
// After all nodes have joined.
constexpr Moment kStarts = seconds{5};

std::string thousandths(std::uint64_t part, std::uint64_t whole) {
    const std::uint64_t value = whole == 0 ? 0 : part * 1'000 / whole;
    const std::string rest = std::to_string(value % 1'000);
    return std::to_string(value / 1'000) + "." + std::string(3 - rest.size(), '0') + rest;
}

RunResult measure(const Options& options) {
    RunResult result = run(options);
    if (result.failure) {
        std::cerr << "sharing: " << *result.failure << "\n";
        std::exit(1);
    }
    return result;
}

Options region_of(std::uint32_t nodes, Count limit, std::uint64_t parts) {
    Options options;
    options.regions = 1;
    options.nodes = nodes;
    options.load.keys = 1;
    options.load.limit = limit;
    options.load.is_poisson = true;
    options.share_parts = parts;
    return options;
}

// Independent requests at random nodes, in windows of 10 seconds: 4 to 100 windows, fewer for large
// limits.
void measure_load(std::uint32_t nodes, Count limit, Permille load, std::uint64_t parts) {
    Options options = region_of(nodes, limit, parts);
    options.load.duration = Duration{10'000};
    options.load.times = load;
    options.load.starts = kStarts;
    const Count per_window = limit * load / 1'000;
    const auto windows = static_cast<std::int64_t>(std::clamp<Count>(10'000 / per_window, 4, 100));
    options.lasts = kStarts + windows * Moment{options.load.duration};
    const RunResult result = measure(options);
    const Node::Totals& totals = result.regions[0].totals;
    const std::uint64_t decisions = totals.audit.decisions;
    std::cout << "| " << nodes << " | " << limit << " | " << thousandths(load, 1'000) << "\t"
              << thousandths(result.worst_effective, 1'000) << " "
              << thousandths(totals.audit.waits, decisions) << " "
              << thousandths(totals.calls, decisions) << "\n";
}

// The state of a key when a burst reaches all nodes at once.
struct Burst {
    const char* name;
    Permille before;  // spend of all nodes, as a share of the limit
    Moment at;
};
// Each node spends its part of that, with one more request a second later, whose flush reads the
// counts of its peers.
constexpr Moment kFirst = seconds{6};
constexpr Moment kSecond = seconds{7};
constexpr std::array kBursts = {
    Burst{"cold", 0, seconds{9}},
    Burst{"young, 90 % left", 100, seconds{9}},
    Burst{"young, 10.8 % left", 892, seconds{9}},
    Burst{"old, 90 % left", 100, seconds{21}},
    Burst{"old, 10.8 % left", 892, seconds{21}},
};

std::string volley(Count requests, Moment at) {
    return "volley=" + std::to_string(requests) + "@" + std::to_string(at / seconds{1}) + "s";
}

void measure_burst(const Burst& burst, std::uint32_t nodes, Count limit, std::uint64_t parts) {
    constexpr std::uint64_t kSeeds = 5;
    const Count before = limit * burst.before / 1'000 / nodes;
    if (before == 0 && burst.before != 0) return;
    Options options = region_of(nodes, limit, parts);
    options.load.times = 0;
    options.load.duration = Duration{60'000};
    options.lasts = seconds{30};
    if (before > 1) add_fault(volley(before - 1, kFirst), options.faults);
    if (before > 0) add_fault(volley(1, kSecond), options.faults);
    add_fault(volley(std::max<Count>(200, 2 * limit / nodes), burst.at), options.faults);
    Permille worst = 0;
    for (options.seed = 1; options.seed <= kSeeds; ++options.seed)
        worst = std::max(worst, measure(options).worst_effective);
    std::cout << "| " << burst.name << " | " << nodes << " | " << limit << "\t"
              << thousandths(worst, 1'000) << "\n";
}

}  // namespace
}  // namespace sluice::sim

int main(int argc, char** argv) {
    using namespace sluice::sim;
    if (argc != 2) {
        std::cerr << "usage: sim_sharing PARTS\n";
        return 1;
    }
    const std::uint64_t parts = std::stoull(argv[1]);
    for (const std::uint32_t nodes : kNodes)
        for (const sluice::Count limit : kLimits)
            for (const Permille load : kLoads)
                measure_load(nodes, limit, load, parts);
    for (const Burst& burst : kBursts)
        for (const std::uint32_t nodes : kNodes)
            for (const sluice::Count limit : kLimits)
                measure_burst(burst, nodes, limit, parts);
}
