#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "sim/options.h"
#include "sim/scheduler.h"

namespace sluice::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class T, std::size_t N>
T one_of(Random& random, const std::array<T, N>& values) {
    return values[random.below(N)];
}

std::string ms_text(std::int64_t count) {
    return std::to_string(count) + "ms";
}

// A random fault of any part of the fleet.
std::string random_fault(Random& random, const Options& options, bool can_forget) {
    const std::string region = ":region-" + std::to_string(1 + random.below(options.regions));
    const std::string node = ":node-" + std::to_string(1 + random.below(options.nodes));
    const std::int64_t whole = options.lasts / milliseconds{1};
    const std::int64_t at = random.between(whole / 10, whole - 1);
    const std::string when = "@" + ms_text(at) + "+" +
                             ms_text(random.between(100, std::max<std::int64_t>(whole / 3, 200)));
    switch (random.below(16)) {
        case 0:
            return "origin-down" + region + when;
        case 1:
            return "origin-slow=" + ms_text(random.between(1, 500)) + region + when;
        case 2:
        case 3:
            return can_forget ? "origin-empty" + region + "@" + ms_text(at) : "origin-down" + when;
        case 4:
            return can_forget ? "origin-stale=" + ms_text(random.between(10, 20'000)) + region +
                                    "@" + ms_text(at)
                              : "origin-down" + when;
        case 5:
            return "store-down" + when;
        case 6:
            return "store-slow=" + ms_text(random.between(10, 5'000)) + when;
        case 7:
            return "store-busy=0." + std::to_string(random.between(1, 9)) + when;
        case 8:
            return "store-lag=" + ms_text(random.between(10, 8'000)) + when;
        case 9:
            return "partition" + node + when;
        case 10:
            return "partition" + region + when;
        case 11:
            return "crash" + node + when;
        case 12:
            return "restart" + node + "@" + ms_text(at);
        case 13:
            return "pause" + node + when;
        case 14:
            return "burst=" + std::to_string(random.between(2, 20)) + when;
        default:
            return "rolling-restart=" + ms_text(random.between(500, 8'000)) + "@" + ms_text(at);
    }
}

// A bus, and its faults.
void add_bus(Random& random, Options& options) {
    options.bus = milliseconds{random.between(1, 400)};
    options.faults.bus_loss = one_of(random, std::array<Permille, 4>{0, 0, 50, 500});
    const std::int64_t whole = options.lasts / milliseconds{1};
    for (std::uint64_t i = random.below(3); i > 0; --i) {
        const std::string when =
            "@" + ms_text(random.between(0, whole - 1)) + "+" +
            ms_text(random.between(100, std::max<std::int64_t>(whole / 3, 200)));
        const std::array faults = {"bus-down" + when,
                                   "bus-loss=0." + std::to_string(random.between(1, 9)) + when,
                                   "bus-slow=" + ms_text(random.between(10, 4'000)) + when};
        SLUICE_CHECK(!add_fault(faults[random.below(faults.size())], options.faults));
    }
}

}  // namespace

Options swarm_options(std::uint64_t seed) {
    Random random(seed ^ 0x5357'4152'4D21U);
    Options options;
    options.seed = seed;
    options.name = "swarm " + std::to_string(seed);
    options.regions = static_cast<std::uint32_t>(1 + random.below(4));
    options.nodes = options.regions * static_cast<std::uint32_t>(1 + random.below(3));
    Load& load = options.load;
    load.duration = seconds{one_of(random, std::array{2, 10, 60, 120, 120, 300})};
    load.limit = one_of(random, std::array<Count, 6>{1, 5, 30, 100, 300, 1'000});
    load.keys = one_of(random, std::array{1U, 2U, 5U, 20U, 60U});
    load.times = one_of(random, std::array<Permille, 6>{200, 500, 900, 1'500, 3'000, 10'000});
    load.spread = one_of(
        random, std::array{Spread::kEven, Spread::kSingle, Spread::kZipf, Spread::kRotating});
    load.overlap = random.below(3) == 0 ? 300 : 0;
    load.popular_keys = random.below(3) == 0;
    load.batches = one_of(random, std::array<Permille, 4>{0, 0, 100, 400});
    load.peeks = one_of(random, std::array<Permille, 3>{0, 50, 300});
    load.most_cost = one_of(random, std::array<Count, 3>{1, 3, 20});
    load.churn = random.below(4) == 0 ? 500 : 0;
    load.long_names = random.below(4) == 0 ? 200 : 0;
    options.policy = one_of(random, std::array{"adaptive", "adaptive", "half", "always"});
    options.begins = milliseconds{random.between(0, load.duration.count() - 1)};
    options.lasts = seconds{random.between(10, 120)};
    // Keeps a run below a second.
    constexpr std::int64_t kMostRequests = 12'000;
    const std::int64_t per_second =
        static_cast<std::int64_t>(load.keys * load.limit * load.times / 1'000) * 1'000 /
            load.duration.count() +
        1;
    options.lasts =
        std::clamp<Moment>(seconds{kMostRequests / per_second}, seconds{2}, options.lasts);
    // In a small table, keys evict each other, and only the origin holds their counts: it must not
    // lose data then.
    const bool can_forget = random.below(4) != 0;
    if (!can_forget) {
        options.max_keys = 40;
        load.batches = 0;
    }
    FaultPlan& plan = options.faults;
    plan.loss = one_of(random, std::array<Permille, 4>{0, 0, 20, 200});
    plan.duplicate = one_of(random, std::array<Permille, 3>{0, 50, 300});
    plan.jitter = milliseconds{one_of(random, std::array{0, 1, 40, 200})};
    if (random.below(4) == 0)
        plan.skew = milliseconds{random.between(1, load.duration.count() / 4)};
    for (std::uint64_t i = random.below(6); i > 0; --i)
        SLUICE_CHECK(!add_fault(random_fault(random, options, can_forget), plan));
    if (random.below(8) == 0)
        SLUICE_CHECK(
            !add_fault("clock-step=" + ms_text(random.between(1, load.duration.count() / 4)) +
                           ":node-1@" + ms_text(options.lasts / milliseconds{2}),
                       plan));
    // Newer options are drawn last, so that older ones stay the same for a seed.
    if (random.below(4) == 0)
        options.nodes = options.regions * static_cast<std::uint32_t>(random.between(4, 9));
    load.is_poisson = random.below(3) == 0;
    const std::int64_t whole = options.lasts / milliseconds{1};
    if (random.below(4) == 0) {
        const std::string region =
            random.below(3) == 0 ? ""
                                 : ":region-" + std::to_string(1 + random.below(options.regions));
        SLUICE_CHECK(!add_fault(
            "origin-refuses-writes" + region + "@" + ms_text(random.between(0, whole - 1)) + "+" +
                ms_text(random.between(100, std::max<std::int64_t>(whole / 3, 200))),
            plan));
    }
    for (std::uint64_t i = random.below(4) == 0 ? 1 + random.below(3) : 0; i > 0; --i)
        SLUICE_CHECK(!add_fault("volley=" + std::to_string(random.between(1, 200)) + "@" +
                                    ms_text(random.between(0, whole - 1)),
                                plan));
    if (random.below(2) == 0) add_bus(random, options);
    // One in 16 runs, none of which is a seed of swarm_test.cc.
    if (const std::uint64_t drawn = random.below(48); drawn >= 6 && drawn < 9)
        SLUICE_CHECK(
            !add_fault("clock-step=1h:node-" + std::to_string(1 + random.below(options.nodes)) +
                           "@" + ms_text(random.between(0, whole - 1)) + "+" +
                           ms_text(random.between(1, std::max<std::int64_t>(whole / 2, 2))),
                       plan));
    return options;
}

}  // namespace sluice::sim
