// Prints the tables of docs/accuracy.md, from real runs. `make accuracy` puts them there.
#include <array>
#include <iostream>
#include <string>
#include <string_view>

#include "config/duration.h"
#include "sim/run.h"

namespace sluice::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// "bus" is the policy "adaptive" with a bus of 100 ms.
constexpr std::array<const char*, 4> kPolicies = {"adaptive", "bus", "half", "always"};
constexpr std::array<Permille, 5> kLoads = {900, 1'500, 3'000, 10'000, 30'000};
constexpr std::array<Duration, 2> kWindows = {seconds{60}, minutes{5}};
constexpr std::uint64_t kSeeds = 3;

// The worst of a few seeds, and the average of what is an average.
struct Measured {
    Permille steady = 0;
    Permille worst_window = 0;
    Permille worst_trailing = 0;
    std::uint64_t false_denials = 0;
    std::uint64_t rows = 0;
    std::uint64_t decisions = 0;
};

Measured measure(Options options) {
    Measured measured;
    for (options.seed = 1; options.seed <= kSeeds; ++options.seed) {
        const RunResult result = run(options);
        if (result.failure) {
            std::cerr << "accuracy: " << *result.failure << "\n";
            std::exit(1);
        }
        measured.steady += result.steady() / kSeeds;
        measured.worst_window = std::max(measured.worst_window, result.fixed.worst);
        measured.worst_trailing = std::max(measured.worst_trailing, result.worst_trailing);
        measured.false_denials += result.false_denials;
        measured.decisions += result.decisions;
        for (const RunResult::Region& region : result.regions)
            measured.rows += region.totals.rows;
    }
    return measured;
}

Options options_of(const char* policy, Permille load, Duration window, Spread spread) {
    Options options;
    options.regions = 10;
    options.nodes = 20;
    options.load = {.times = load, .keys = 1, .limit = 1'000, .duration = window, .spread = spread};
    options.lasts = 4 * Moment{window} - Moment{window} / 10;
    const bool has_bus = std::string_view(policy) == "bus";
    options.policy = has_bus ? "adaptive" : policy;
    if (has_bus) options.bus = std::chrono::milliseconds{100};
    return options;
}

void print_row(const Measured& measured) {
    const std::uint64_t rows =
        measured.rows * 1'000'000 / std::max<std::uint64_t>(measured.decisions, 1);
    std::cout << " | " << times_text(measured.steady) << " | " << times_text(measured.worst_window)
              << " | " << times_text(measured.worst_trailing) << " | " << measured.false_denials
              << " | " << times_text(rows) << " |\n";
}

void print_table(Spread spread) {
    std::cout
        << "| policy | window | load | admitted, on average | worst window | worst trailing window "
           "| false denials | rows per 1,000 decisions |\n|---|---|---|---|---|---|---|---|\n";
    for (const char* policy : kPolicies) {
        if (spread == Spread::kSingle && policy != kPolicies.front()) continue;
        for (const Duration window : kWindows) {
            for (const Permille load : kLoads) {
                std::cout << "| " << policy << " | " << config::to_string(window) << " | "
                          << times_text(load);
                print_row(measure(options_of(policy, load, window, spread)));
            }
        }
    }
}

}  // namespace
}  // namespace sluice::sim

int main() {
    using namespace sluice::sim;
    std::cout << "### Spread evenly over 10 regions\n\n";
    print_table(Spread::kEven);
    std::cout << "\n### In one region\n\n";
    print_table(Spread::kSingle);
}
