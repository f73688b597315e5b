#include "sim/run.h"

#include <algorithm>
#include <ostream>

#include "sim/report.h"

namespace sluice::sim {
namespace {

// 1 January 2026, 0:00: the beginning of a window of every duration that divides a day.
constexpr UnixTime kBegan{std::chrono::milliseconds{1'767'225'600'000}};

void judge(const Options::Promise& promise, Outcome& outcome) {
    const auto check = [&](bool is_kept, const std::string& what) {
        if (!is_kept && !outcome.failure) outcome.failure = "the promise is broken: " + what;
    };
    check(!promise.no_false_denial || outcome.false_denials == 0,
          std::to_string(outcome.false_denials) + " requests were denied that should have passed");
    if (promise.most_trailing)
        check(outcome.worst_trailing <= *promise.most_trailing,
              "a trailing window held " + times_text(outcome.worst_trailing) +
                  " times the limit; promised: " + times_text(*promise.most_trailing));
    if (promise.most_window)
        check(outcome.fixed.worst <= *promise.most_window,
              "a window held " + times_text(outcome.fixed.worst) +
                  " times the limit; promised: " + times_text(*promise.most_window));
    if (promise.least_steady)
        check(outcome.steady() >= *promise.least_steady,
              "windows held " + times_text(outcome.steady()) +
                  " times the limit on average; promised: at least " +
                  times_text(*promise.least_steady));
}

}  // namespace

bool FaultPlan::has(FaultKind kind) const {
    return std::ranges::any_of(scheduled, [&](const Fault& fault) { return fault.kind == kind; });
}

Outcome run(const Options& options,
            const std::function<void(Moment)>& progress,
            std::ostream* trace) {
    const UnixTime began =
        kBegan + std::chrono::duration_cast<std::chrono::milliseconds>(options.begins);
    World world(options, began);
    world.truth.first_sequence =
        instant_at(began, options.load.duration).sequence - (options.begins == Moment{0} ? 1 : 0);
    Fleet fleet(world, progress);
    fleet.run();
    Outcome outcome;
    outcome.failure = world.verdict.failure();
    outcome.failed_at = world.scheduler.now();
    for (std::uint32_t region = 0; region < options.regions; ++region) {
        const Node::Totals totals = fleet.totals_of(region);
        outcome.regions.push_back({totals, world.origins[region].bytes});
        outcome.decisions += totals.audit.decisions;
        outcome.passed += totals.audit.passed;
        outcome.false_denials += totals.audit.false_denials;
    }
    outcome.contended = world.truth.contended();
    outcome.fixed = world.truth.fixed();
    outcome.worst_trailing = world.truth.worst_trailing();
    outcome.worst_effective = world.truth.worst_effective();
    outcome.over_time = fleet.over_time();
    outcome.recoveries = fleet.recoveries();
    outcome.unserved = fleet.unserved();
    outcome.checked_views = fleet.checked_views();
    outcome.store_bytes = world.store.bytes;
    outcome.events = world.scheduler.events();
    judge(options.promise, outcome);
    if (trace != nullptr) world.trace.write(*trace);
    return outcome;
}

}  // namespace sluice::sim
