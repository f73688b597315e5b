// The documented bounds and the decision formula, as the audit checks them. They repeat constants
// of the production code on purpose: a check that read those would agree with any change of them.
#ifndef SLUICE_SIM_BOUNDS_H_
#define SLUICE_SIM_BOUNDS_H_

#include <sluice/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "sim/options.h"
#include "window/cell.h"

namespace sluice::sim {

// The sharing rule (docs/consistency.md): the maximum age of a view of the peers with which a share
// of the remaining limit is good for more than one unit, the divisor of that share, and that of the
// floor.
constexpr Duration oldest_view(Duration window) {
    return std::min(Duration{5'000}, window / 4);
}
inline constexpr std::uint64_t kAuditedShareParts = 8;
inline constexpr std::uint64_t kAuditedFloorParts = 100;

// A node that joins lets the origin decide everything for kJoining. So does one whose last answered
// heartbeat was sent more than kCountHolds ago.
inline constexpr Duration kJoining{3'000};
inline constexpr Duration kCountHolds{3'000};

// The time within which nodes notice that their origin refuses writes.
inline constexpr Moment kNoticesRefusal = std::chrono::seconds{3};

// The time within which a started node is connected to a working origin.
inline constexpr Duration kConnects{1'000};

// The excess over a limit that all nodes of a region together admit while their origin answers.
constexpr Count most_excess(Count limit, std::uint64_t share_parts) {
    return limit / share_parts;
}

// The time within which a pass reaches a working origin: the flush delay (an eighth of the window,
// at most a second), the previous flush with its pause of four call times, and its own flush.
constexpr Duration longest_unsynced(Duration window, Moment longest_call) {
    constexpr Duration kSteps{100};
    return std::min(Duration{1'000}, window / 8) +
           std::chrono::duration_cast<Duration>(6 * longest_call) + kSteps;
}

// Ticks of publishers and importers are at most this far apart.
constexpr Moment longest_between_ticks(Moment interval) {
    return interval + interval / 5;
}

// The time after the last fault within which all nodes of a region agree: an open breaker takes 5
// s, a retry at most 2 s.
inline constexpr Moment kTimeToSettle = std::chrono::seconds{12};

// The number of publish intervals within which all regions agree. Publishing, importing, publishing
// the counts that the import made relevant, and importing those takes four ticks; an open breaker
// costs one or two more. Deleted rows return on every twelfth tick, which publishes everything.
constexpr int intervals_to_converge(FaultKind fault) {
    constexpr int kUsual = 6;
    constexpr int kRepublish = 12;
    return fault == FaultKind::kStoreCleanup ? kUsual + kRepublish : kUsual;
}

// The share of a limit from which a region publishes its count, by policy name. Not for "adaptive".
constexpr Permille publishes_from(std::string_view policy) {
    return policy == "half" ? 500 : policy == "quarter" ? 250 : 0;
}

// Under "adaptive", the largest part of its count that a region keeps to itself: half of its share
// of what is left, or half of an even split while it knows of no other region (docs/accuracy.md).
struct Unpublished {
    Count limit;
    Count spent;  // at least, by the region, in the cell
    bool knows_others;
    std::uint64_t regions;  // as it counts them
};
constexpr Count most_unpublished(const Unpublished& q) {
    const Count left = q.limit - std::min(q.limit, q.spent);
    const Count least = q.knows_others ? left / (4 * q.regions) : q.limit / (2 * q.regions);
    return std::max<Count>(least, 1) - 1;
}
// Urged publishes of a node are this far apart.
inline constexpr Duration kAuditedUrged{200};
// Announcements are gathered for this long.
inline constexpr Duration kAuditedGather{20};

struct NaiveInput {
    Count current;
    Count previous;
    std::int64_t elapsed_ms;
    std::int64_t duration_ms;
    Count cost;
    Count limit;
};

// current + previous * (duration - elapsed) / duration + cost <= limit, multiplied by the duration
// so that nothing is rounded.
inline bool naive_pass(const NaiveInput& q) {
    if (q.limit == 0) return false;
    const Wide duration = static_cast<std::uint64_t>(q.duration_ms);
    const Wide weight = static_cast<std::uint64_t>(q.duration_ms - q.elapsed_ms);
    return (Wide{q.current} + q.cost) * duration + Wide{q.previous} * weight <=
           Wide{q.limit} * duration;
}

}  // namespace sluice::sim

#endif  // SLUICE_SIM_BOUNDS_H_
