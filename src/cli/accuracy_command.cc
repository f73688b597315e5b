// `sluice accuracy`: the bound on what regions admit together, for a user's numbers.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "config/duration.h"
#include "global/accuracy_bound.h"
#include "window/cell.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
    R"(Computes how much can pass beyond a limit that several regions share, while nothing fails. The rate is that of
the busiest region, in cost per second; the delay is one message over the bus, or one round trip to the global
store. docs/accuracy.md explains the formula. `sluice simulate` measures the same.

Examples:
  sluice accuracy --regions 3 --limit 1000 --duration 1m --rate 5
  sluice accuracy --regions 10 --limit 1000 --duration 1m --rate 5 --bus --delay 80ms)";

constexpr double kMostRate = 1e9;
constexpr Duration kLongestDelay{3'600'000};

struct Arguments {
    std::uint64_t regions = 2;
    std::uint64_t limit = 0;
    std::string duration;
    double rate = 0;
    std::string delay = "100ms";
    std::uint64_t cost = 1;
    std::uint64_t nodes = 2;
    bool has_bus = false;
    bool json = false;
};

void print(const Arguments& arguments, Duration delay, Count excess, std::ostream& out) {
    const double limit = static_cast<double>(std::max<std::uint64_t>(arguments.limit, 1));
    const double part = 100 * static_cast<double>(excess) / limit;
    const double rounded = std::round(part * 100) / 100;
    std::string percent = std::to_string(rounded);
    percent.resize(percent.find('.') + 3);
    if (arguments.json) {
        out << R"({"delayMs":)" << delay.count() << R"(,"excess":)" << excess << R"(,"percent":)"
            << percent << "}\n";
        return;
    }
    out << "Counts reach other regions within " << config::to_string(delay) << ".\n"
        << "At most " << excess << " pass beyond the limit of " << arguments.limit << ": "
        << percent << " %.\n";
}

ExitCode run(const CLI::App& command, const Arguments& arguments, const Environment& environment) {
    const auto duration = duration_of("--duration", arguments.duration, kMinDuration);
    if (!duration) return fail(command, duration.error(), environment);
    if (*duration > kMaxDuration)
        return fail(
            command,
            {kInvalidOption, "--duration is \"" + arguments.duration + "\"; allowed: 1s to 366d"},
            environment);
    const auto trip = duration_of("--delay", arguments.delay);
    if (!trip) return fail(command, trip.error(), environment);
    if (*trip > kLongestDelay)
        return fail(command,
                    {kInvalidOption, "--delay is \"" + arguments.delay + "\"; allowed: 0s to 1h"},
                    environment);
    if (!(arguments.rate >= 0 && arguments.rate <= kMostRate))  // or no number at all
        return fail(command,
                    {kInvalidOption, "--rate is not a number; allowed: 0 to 1000000000"},
                    environment);
    const Duration delay = delay_between_regions({.duration = *duration,
                                                  .round_trip = *trip,
                                                  .has_bus = arguments.has_bus,
                                                  .has_peers = arguments.nodes > 1});
    const Count excess = over_admission_bound(
        {.regions = arguments.regions,
         .limit = arguments.limit,
         .duration = *duration,
         .rate_per_day = static_cast<std::uint64_t>(std::ceil(arguments.rate * 86'400)),
         .delay = delay,
         .most_cost = arguments.cost});
    print(arguments, delay, excess, environment.out);
    return ExitCode::kOk;
}

}  // namespace

void add_accuracy_command(Commands& commands) {
    CLI::App& command =
        commands.add("accuracy", "Compute how far regions can exceed a limit together", kFooter);
    const auto arguments = std::make_shared<Arguments>();
    command.add_option("--regions", arguments->regions, "Number of regions, 1 to 1024")
        ->check(CLI::Range(1, 1'024))
        ->required();
    command.add_option("--limit", arguments->limit, "The limit")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{kMaxCount}))
        ->required();
    command.add_option("--duration", arguments->duration, "Length of the window, such as 1m")
        ->type_name("TIME")
        ->required();
    command.add_option("--rate", arguments->rate, "Cost per second in the busiest region")
        ->check(CLI::Range(0.0, kMostRate))
        ->required();
    command.add_option("--cost", arguments->cost, "Largest cost of a request")
        ->capture_default_str()
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{kMaxCount}));
    command.add_option("--nodes", arguments->nodes, "Nodes in each region")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    command.add_option("--delay", arguments->delay, "Delay of the bus or the store")
        ->capture_default_str()
        ->type_name("TIME");
    command.add_flag("--bus", arguments->has_bus, "With a message bus");
    command.add_flag("--json", arguments->json, "Print JSON");
    commands.set_run(command, [arguments, &command](const Environment& environment) {
        return run(command, *arguments, environment);
    });
}

}  // namespace sluice::cli
