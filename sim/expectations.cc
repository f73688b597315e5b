#include "sim/expectations.h"

#include <algorithm>
#include <cstdlib>

#include "global/accuracy_bound.h"
#include "sim/bounds.h"

namespace sluice::sim {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

// The longest time that a restart takes.
constexpr Moment kRestart = seconds{4};

// The end of a fault.
Moment end_of(const Fault& fault, const Options& options) {
    switch (fault.kind) {
        case FaultKind::kRestart:
            return fault.at + kRestart;
        case FaultKind::kRollingRestart:
            return fault.at + Moment{fault.amount} * options.nodes + kRestart;
        default:
            return fault.at + fault.lasts;
    }
}

// The longest one-way delay to the store: Node::store_delay() without faults.
Moment longest_way(const Options& options) {
    return std::chrono::milliseconds{15 + 12 * options.regions} +
           10 * (options.faults.delay + options.faults.jitter);
}

Duration origin_lag(const Options& options) {
    return longest_unsynced(options.load.duration, options.faults.longest_call());
}

Duration world_lag(const Options& options) {
    constexpr Duration kHandedOver{100};
    // With every announcement delivered: gathered, and half of the delay more.
    if (options.bus && options.faults.bus_loss == 0 && options.policy == "adaptive")
        return origin_lag(options) + kHandedOver + kAuditedGather +
               duration_cast<Duration>(*options.bus + *options.bus / 2);
    // A bus that loses announcements is not silent: regular ticks carry them. One may be left out
    // after a peer's.
    const Moment tick = longest_between_ticks(options.interval);
    const Moment publish = options.policy != "adaptive" ? tick
                           : options.bus                ? 2 * tick
                                                        : Moment{kAuditedUrged};
    return origin_lag(options) + kHandedOver +
           duration_cast<Duration>(publish + tick + 5 * longest_way(options));
}

}  // namespace

bool FaultCalendar::affects(const Fault& fault, std::uint32_t region, const Options& options) {
    switch (fault.kind) {
        case FaultKind::kStoreDown:
        case FaultKind::kStoreSlow:
        case FaultKind::kStoreBusy:
        case FaultKind::kStoreLag:
        case FaultKind::kStoreFailover:
        case FaultKind::kStoreClock:
        case FaultKind::kStoreCleanup:
        case FaultKind::kBusDown:
        case FaultKind::kBusLoss:
        case FaultKind::kBusSlow:
        case FaultKind::kBurst:
        case FaultKind::kVolley:
            return false;
        case FaultKind::kPartition:
            if (fault.target.kind != Target::Kind::kNode) return false;
            break;
        default:
            break;
    }
    switch (fault.target.kind) {
        case Target::Kind::kRegion:
            return fault.target.index == region;
        case Target::Kind::kNode:
            return fault.target.index % options.regions == region;
        default:
            return true;
    }
}

FaultCalendar::FaultCalendar(const Options& options) : regions_(options.regions) {
    const FaultPlan& plan = options.faults;
    is_lossy_ = plan.loss != 0 || plan.longest_call() >= Scheduler::kTimeout;
    is_prompt_ = 3 * plan.longest_call() < Scheduler::kTimeout;
    // Nodes that start are not connected yet, and what they admit until then has to be flushed.
    for (auto& region : regions_)
        region.push_back({Moment{0}, 2 * kConnects});
    const Moment interval = longest_between_ticks(options.interval);
    for (const Fault& fault : plan.scheduled) {
        if (fault.kind == FaultKind::kBurst || fault.kind == FaultKind::kVolley) continue;
        const Moment end = end_of(fault, options);
        world_.push_back({fault.at, end + intervals_to_converge(fault.kind) * interval});
        for (std::uint32_t region = 0; region < options.regions; ++region)
            if (affects(fault, region, options))
                regions_[region].push_back({fault.at, end + kTimeToSettle});
    }
}

bool FaultCalendar::is_free(const std::vector<Disturbance>& all, Moment from, Moment to) {
    return std::ranges::none_of(
        all, [&](const Disturbance& one) { return one.from <= to && from <= one.to; });
}

bool FaultCalendar::is_region_quiet(std::uint32_t region, Moment from, Moment to) const {
    return !is_lossy_ && is_free(regions_[region], from, to);
}

bool FaultCalendar::is_world_quiet(Moment from, Moment to) const {
    return !is_lossy_ && is_free(world_, from, to);
}

Expectations::Expectations(const Options& options, const Truth& truth, UnixTime began)
    : options_(options),
      truth_(truth),
      began_(began),
      calendar_(options),
      origin_lag_(origin_lag(options)),
      world_lag_(world_lag(options)),
      has_far_steps_(std::ranges::any_of(options.faults.scheduled,
                                         [&](const Fault& fault) {
                                             return fault.kind == FaultKind::kClockStep &&
                                                    std::abs(fault.amount) >
                                                        Moment{options.load.duration}.count();
                                         })),
      // An evicted key loses what was imported for it.
      has_small_tables_(options.max_keys < 1'000'000),
      // Far beyond the cap, nodes drop counts that they can't write to an unavailable origin.
      may_drop_(has_small_tables_ && !options.faults.scheduled.empty()) {}

bool Expectations::is_forgotten(Sequence sequence, std::int64_t at_ms) const {
    const std::int64_t skew_ms = duration_cast<Duration>(2 * options_.faults.skew).count();
    return at_ms + skew_ms >= (sequence + 2) * options_.load.duration.count();
}

Count Expectations::origin_count(std::uint32_t region,
                                 KeyIndex key,
                                 Sequence sequence,
                                 std::int64_t at_ms) const {
    const std::int64_t by_ms = at_ms - origin_lag_.count();
    if (may_drop_ || options_.faults.has(FaultKind::kClockStep) || is_forgotten(sequence, at_ms) ||
        truth_.lost(key, sequence, region) == Truth::Lost::kToRegion ||
        !calendar_.is_region_quiet(region, moment(by_ms), moment(at_ms)))
        return 0;
    return truth_.grants.sum({.key = key, .sequence = sequence, .region = region, .by_ms = by_ms});
}

bool Expectations::is_quiet(std::uint32_t region,
                            std::int64_t arrived_ms,
                            std::int64_t decided_ms) const {
    const std::int64_t from = arrived_ms - oldest_view(options_.load.duration).count();
    return !may_drop_ && calendar_.is_prompt() &&
           calendar_.is_region_quiet(region, moment(from), moment(decided_ms));
}

Count Expectations::skewed(Count previous) const {
    return options_.faults.skew == Moment{0} ? 0 : previous;
}

Count Expectations::foreign_count(std::uint32_t region,
                                  KeyIndex key,
                                  Sequence sequence,
                                  std::int64_t at_ms) const {
    const std::int64_t by_ms = at_ms - world_lag_.count();
    const std::int64_t skew_ms = duration_cast<Duration>(2 * options_.faults.skew).count();
    const bool is_dying = at_ms + skew_ms >= (sequence + 2) * options_.load.duration.count();
    if (has_small_tables_ || has_far_steps_ || is_dying ||
        !calendar_.is_world_quiet(moment(by_ms), moment(at_ms)))
        return 0;
    Count sum = 0;
    for (std::uint32_t other = 0; other < options_.regions; ++other) {
        if (other == region || truth_.lost(key, sequence, other) != Truth::Lost::kNothing) continue;
        sum += published_count(other, key, sequence, by_ms);
    }
    return sum;
}

bool Expectations::has_recovered_clock(std::int64_t since_ms, std::int64_t at_ms) const {
    const std::int64_t two_windows = 2 * options_.load.duration.count();
    return options_.faults.skew == Moment{0} && since_ms <= at_ms - two_windows;
}

// What may be admitted in a window without a fault, if requests come as evenly as the load says.
std::optional<Permille> Expectations::bound() const {
    if (options_.policy != "adaptive") return std::nullopt;
    const Load& load = options_.load;
    // The rate of the busiest region.
    const std::uint64_t parts = load.spread == Spread::kEven ? options_.regions : 1;
    const Wide per_day = Wide{load.limit} * load.times * 86'400 /
                         (static_cast<std::uint64_t>(load.duration.count()) * parts);
    const Count excess = over_admission_bound({.regions = options_.regions,
                                               .limit = load.limit,
                                               .duration = load.duration,
                                               .rate_per_day = per_day,
                                               .delay = world_lag_,
                                               .most_cost = load.most_cost});
    return 1'000 + static_cast<Permille>(Wide{excess} * 1'000 / load.limit);
}

// The least count of a region that it has decided to publish by a time.
Count Expectations::published_count(std::uint32_t region,
                                    KeyIndex key,
                                    Sequence sequence,
                                    std::int64_t by_ms) const {
    const Count limit = options_.load.limit;
    const auto granted = [&](std::uint32_t each, std::int64_t ms) {
        return truth_.grants.sum({.key = key, .sequence = sequence, .region = each, .by_ms = ms});
    };
    const Count spent = granted(region, by_ms);
    if (options_.policy != "adaptive")
        return spent * 1'000 >= limit * publishes_from(options_.policy) ? spent : 0;
    // All regions are counted once each has ticked, and this one after that.
    const bool is_counted =
        moment(by_ms) > 2 * longest_between_ticks(options_.interval) + std::chrono::seconds{2};
    const std::uint64_t regions = is_counted ? std::max(options_.regions, 2U) : 2;
    bool knows_others = false;
    for (std::uint32_t each = 0; each < options_.regions && is_counted; ++each)
        knows_others |=
            each != region && truth_.lost(key, sequence, each) == Truth::Lost::kNothing &&
            granted(each, by_ms - world_lag_.count()) * 2 * regions >= std::max(limit, 2 * regions);
    return spent - std::min(spent,
                            most_unpublished({.limit = limit,
                                              .spent = spent,
                                              .knows_others = knows_others,
                                              .regions = regions}));
}

}  // namespace sluice::sim
