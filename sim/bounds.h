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

// How old a view of the other nodes may be to admit a request (docs/consistency.md, freshness).
constexpr Duration oldest_view(Duration window) {
    return std::min(Duration{5'000}, window / 4);
}

// How long a node may keep a grant to itself while its origin works: a second, or up to 4.7 where
// the limit is far and the window long; and what an answer may take.
constexpr Duration longest_untold(Duration window) {
    constexpr Duration kAnswer{600};
    return std::clamp(window / 4, Duration{1'000}, Duration{4'700}) + kAnswer;
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
