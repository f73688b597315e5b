// The numbers that the documentation promises, as the audit knows them. They are written down here
// a second time on purpose: a check that read the constants of the code it checks would agree with
// any change of them.
#ifndef SLUICE_SIM_BOUNDS_H_
#define SLUICE_SIM_BOUNDS_H_

#include <sluice/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "sim/options.h"

namespace sluice::sim {

// The sharing rule (docs/consistency.md): how old a view of the other nodes may be for a share of
// what is left, how many parts that share is divided by, and the floor for all other views.
constexpr Duration oldest_view(Duration window) {
    return std::min(Duration{5'000}, window / 4);
}
inline constexpr std::uint64_t kAuditedShareParts = 8;
inline constexpr std::uint64_t kAuditedFloorParts = 100;

// A node that joins lets the origin decide everything for so long, and so does one whose last
// answered heartbeat was sent longer ago than this.
inline constexpr Duration kJoining{3'000};
inline constexpr Duration kCountHolds{3'000};

// Nodes notice within so long that their origin refuses writes.
inline constexpr Moment kNoticesRefusal = std::chrono::seconds{3};

// A node that starts is connected to an origin that works after so long.
inline constexpr Duration kConnects{1'000};

// What nodes admit beyond a limit while their origin answers, all of a region together.
constexpr Count most_excess(Count limit, std::uint64_t share_parts) {
    return limit / share_parts;
}

// How long a pass may be missing at the origin while that works: an eighth of the window or a
// second, until the flush before it has ended and its pause of four times as long is over, and the
// flush itself.
constexpr Duration longest_unsynced(Duration window, Moment longest_call) {
    constexpr Duration kSteps{100};
    return std::min(Duration{1'000}, window / 8) +
           std::chrono::duration_cast<Duration>(6 * longest_call) + kSteps;
}

// Ticks of publishers and importers are at most this far apart.
constexpr Moment longest_between_ticks(Moment interval) {
    return interval + interval / 5;
}

// After the last fault, all nodes of a region agree within this time: a breaker that is open stays
// so for 5 s, and what failed is tried again after 2 s at the latest.
inline constexpr Moment kTimeToSettle = std::chrono::seconds{12};

// All regions agree within so many intervals of publishers and importers. Publishing, importing,
// telling those who have just learned that they are not alone, and hearing of that takes four
// ticks; a breaker that is open costs one or two more.
//
// Rows that were deleted while nothing else changed are published again on every twelfth tick.
constexpr int intervals_to_converge(FaultKind fault) {
    constexpr int kUsual = 6;
    constexpr int kRepublish = 12;
    return fault == FaultKind::kStoreCleanup ? kUsual + kRepublish : kUsual;
}

// From which share of a limit on a region publishes its count, by the name of the policy.
constexpr Permille publishes_from(std::string_view policy) {
    return policy == "half" ? 500 : policy == "quarter" ? 250 : 0;
}

// A longer identifier is stored by its digest, from which nobody can make a key that is not held.
constexpr bool is_stored_by_name(std::string_view identifier) {
    return identifier.size() <= 255;
}

}  // namespace sluice::sim

#endif  // SLUICE_SIM_BOUNDS_H_
