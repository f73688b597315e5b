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

Duration region_lag(const Options& options) {
    const Duration window = options.load.duration;
    return 2 * oldest_view(window) + longest_untold(window) +
           duration_cast<Duration>(2 * options.faults.skew);
}

Duration world_lag(const Options& options) {
    constexpr Duration kHandedOver{100};
    return longest_untold(options.load.duration) + kHandedOver +
           duration_cast<Duration>(2 * longest_between_ticks(options.interval) +
                                   3 * longest_way(options));
}

}  // namespace

Knowledge::Knowledge(const Options& options, const Truth& truth, UnixTime began)
    : options_(options),
      truth_(truth),
      began_(began),
      quiet_(options),
      region_lag_(region_lag(options)),
      world_lag_(world_lag(options)),
      // Keys that displace each other take along what was imported of them.
      has_small_tables_(options.max_keys < 1'000'000),
      // Far beyond the cap, nodes drop what an origin that is away has not been told.
      may_drop_(has_small_tables_ && !options.faults.scheduled.empty()) {}

bool Knowledge::is_forgotten(Sequence sequence, std::int64_t at_ms) const {
    const std::int64_t skew_ms = duration_cast<Duration>(2 * options_.faults.skew).count();
    return at_ms + skew_ms >= (sequence + 2) * options_.load.duration.count();
}

Count Knowledge::of_region(const Viewer& viewer,
                           KeyIndex key,
                           Sequence sequence,
                           std::int64_t at_ms) const {
    const std::int64_t by_ms = at_ms - region_lag_.count();
    if (may_drop_ || truth_.lost(key, sequence, viewer.region) == Truth::Lost::kToRegion ||
        !quiet_.is_region_quiet(viewer.region, moment(by_ms), moment(at_ms)))
        return 0;
    return truth_.grants.sum({.key = key,
                              .sequence = sequence,
                              .region = viewer.region,
                              .by_ms = by_ms,
                              .except_node = viewer.serial});
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
