#include "sim/knowledge.h"

#include <algorithm>

#include "sim/bounds.h"

namespace sluice::sim {
namespace {

using std::chrono::duration_cast;

// From here to the store, at most: Node::store_delay() without its faults.
Moment longest_way(const Options& options) {
    return std::chrono::milliseconds{15 + 12 * options.regions} +
           10 * (options.faults.delay + options.faults.jitter);
}

Duration origin_lag(const Options& options) {
    return longest_unsynced(options.load.duration, options.faults.longest_call());
}

Duration world_lag(const Options& options) {
    constexpr Duration kHandedOver{100};
    return origin_lag(options) + kHandedOver +
           duration_cast<Duration>(2 * longest_between_ticks(options.interval) +
                                   3 * longest_way(options));
}

}  // namespace

Knowledge::Knowledge(const Options& options, const Truth& truth, UnixTime began)
    : options_(options),
      truth_(truth),
      began_(began),
      quiet_(options),
      origin_lag_(origin_lag(options)),
      world_lag_(world_lag(options)),
      // Keys that displace each other take along what was imported of them.
      has_small_tables_(options.max_keys < 1'000'000),
      // Far beyond the cap, nodes drop what they can't write to an origin that is unavailable.
      may_drop_(has_small_tables_ && !options.faults.scheduled.empty()) {}

bool Knowledge::is_forgotten(Sequence sequence, std::int64_t at_ms) const {
    const std::int64_t skew_ms = duration_cast<Duration>(2 * options_.faults.skew).count();
    return at_ms + skew_ms >= (sequence + 2) * options_.load.duration.count();
}

Count Knowledge::of_origin(std::uint32_t region,
                           KeyIndex key,
                           Sequence sequence,
                           std::int64_t at_ms) const {
    const std::int64_t by_ms = at_ms - origin_lag_.count();
    if (may_drop_ || options_.faults.has(FaultKind::kClockStep) || is_forgotten(sequence, at_ms) ||
        truth_.lost(key, sequence, region) == Truth::Lost::kToRegion ||
        !quiet_.is_region_quiet(region, moment(by_ms), moment(at_ms)))
        return 0;
    return truth_.grants.sum({.key = key, .sequence = sequence, .region = region, .by_ms = by_ms});
}

bool Knowledge::is_quiet(std::uint32_t region,
                         std::int64_t asked_ms,
                         std::int64_t decided_ms) const {
    const std::int64_t from = asked_ms - oldest_view(options_.load.duration).count();
    return !may_drop_ && quiet_.is_prompt() &&
           quiet_.is_region_quiet(region, moment(from), moment(decided_ms));
}

Count Knowledge::skewed(Count previous) const {
    return options_.faults.skew == Moment{0} ? 0 : previous;
}

Count Knowledge::of_world(std::uint32_t region,
                          KeyIndex key,
                          Sequence sequence,
                          std::int64_t at_ms) const {
    const std::int64_t by_ms = at_ms - world_lag_.count();
    const std::int64_t skew_ms = duration_cast<Duration>(2 * options_.faults.skew).count();
    const bool is_dying = at_ms + skew_ms >= (sequence + 2) * options_.load.duration.count();
    if (has_small_tables_ || is_dying || !quiet_.is_world_quiet(moment(by_ms), moment(at_ms)))
        return 0;
    Count sum = 0;
    for (std::uint32_t other = 0; other < options_.regions; ++other) {
        if (other == region || truth_.lost(key, sequence, other) != Truth::Lost::kNothing) continue;
        const Count granted =
            truth_.grants.sum({.key = key, .sequence = sequence, .region = other, .by_ms = by_ms});
        const bool is_published =
            granted * 1'000 >= options_.load.limit * publishes_from(options_.policy);
        sum += is_published ? granted : 0;
    }
    return sum;
}

}  // namespace sluice::sim
