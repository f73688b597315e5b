#include "sim/run.h"

#include <algorithm>
#include <ostream>

namespace sluice::sim {
namespace {

// 1 January 2026, 00:00 UTC: the start of a window of every duration that divides a day.
constexpr UnixTime kBegan{std::chrono::milliseconds{1'767'225'600'000}};

void judge(const Options::Promise& promise, RunResult& result) {
    const auto check = [&](bool is_kept, const std::string& what) {
        if (!is_kept && !result.failure) result.failure = "the promise is broken: " + what;
    };
    check(!promise.no_false_denial || result.false_denials == 0,
          std::to_string(result.false_denials) + " requests were denied falsely");
    if (promise.most_trailing)
        check(result.worst_trailing <= *promise.most_trailing,
              "a trailing window held " + times_text(result.worst_trailing) +
                  " times the limit; promised: " + times_text(*promise.most_trailing));
    if (promise.most_window)
        check(result.fixed.worst <= *promise.most_window,
              "a window held " + times_text(result.fixed.worst) +
                  " times the limit; promised: " + times_text(*promise.most_window));
    if (promise.least_steady)
        check(result.steady() >= *promise.least_steady,
              "windows held " + times_text(result.steady()) +
                  " times the limit on average; promised: at least " +
                  times_text(*promise.least_steady));
}

}  // namespace

World::World(const Options& given, UnixTime began_at)
    : options(given),
      began(began_at),
      random(given.seed),
      truth(given.load, given.regions),
      trace(given.is_traced ? 1'000'000 : 4'000),
      network{.loss = given.faults.loss,
              .duplicate = given.faults.duplicate,
              .delay = given.faults.delay,
              .jitter = given.faults.jitter},
      expectations(given, truth, began_at),
      store(scheduler, began_at, given.regions) {
    for (std::uint32_t i = 0; i < given.regions; ++i)
        origins.emplace_back(scheduler);
    members.resize(given.regions);
    if (given.bus) bus.emplace(scheduler, random, *given.bus);
    if (bus) bus->loss = given.faults.bus_loss;
}

RunResult run(const Options& options,
              const std::function<void(Moment)>& progress,
              std::ostream* trace) {
    const UnixTime began =
        kBegan + std::chrono::duration_cast<std::chrono::milliseconds>(options.begins);
    World world(options, began);
    world.truth.first_sequence =
        instant_at(began, options.load.duration).sequence - (options.begins == Moment{0} ? 1 : 0);
    Fleet fleet(world, progress);
    fleet.run();
    RunResult result;
    result.failure = world.failure.message();
    result.failed_at = world.scheduler.now();
    for (std::uint32_t region = 0; region < options.regions; ++region) {
        const Node::Totals totals = fleet.totals_of(region);
        result.regions.push_back(
            {totals, world.origins[region].bytes, fleet.decided_over_time(region)});
        result.decisions += totals.audit.decisions;
        result.passed += totals.audit.passed;
        result.false_denials += totals.audit.false_denials;
    }
    result.contended = world.truth.contended();
    result.fixed = world.truth.fixed();
    result.worst_trailing = world.truth.worst_trailing();
    result.worst_effective = world.truth.worst_effective();
    result.over_time = fleet.over_time();
    result.recoveries = fleet.recoveries();
    result.unserved = fleet.unserved();
    result.checked_views = fleet.checked_views();
    result.store_bytes = world.store.bytes;
    result.events = world.scheduler.events();
    result.store_statements = world.store.statements;
    if (world.bus) {
        result.bus_messages = world.bus->messages;
        result.announcements = world.bus->announcements;
    }
    if (options.regions > 1) result.bound = world.expectations.bound();
    judge(options.promise, result);
    if (trace != nullptr) world.trace.write(*trace);
    return result;
}

}  // namespace sluice::sim
