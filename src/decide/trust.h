// How long what a node has heard of the others may be trusted.
#ifndef SLUICE_DECIDE_TRUST_H_
#define SLUICE_DECIDE_TRUST_H_

#include <sluice/time.h>

#include <algorithm>

#include "counter/entry.h"
#include "window/count.h"
#include "window/far.h"
#include "window/sliding.h"

namespace sluice {

// A count that is older than this is never trusted.
inline constexpr Duration kFreshness{5'000};

// A pass that leaves less than this many times its cost is one of the last few.
inline constexpr Count kFew = 8;

// The last few passes of a limit are worth a question each: here a few requests elsewhere make the
// difference.
constexpr bool is_one_of_the_last(Count remaining, Count cost) {
    return remaining < kFew * std::max<Count>(cost, 1);
}

// Whether counts that are `age` old may admit a request that leaves `remaining` of `limit`. The
// less is left, the less time it takes the others to spend it: trust shrinks in proportion. A
// quarter of the duration is the time in which others at four times the limit would spend all of
// it.
constexpr bool is_young_enough(Duration age, Count remaining, Count limit, Duration duration) {
    const Duration trust = std::min(kFreshness, duration / 4);
    return Wide{static_cast<std::uint64_t>(age.count())} * limit <=
           Wide{static_cast<std::uint64_t>(trust.count())} * remaining;
}

// A count that is older than this admits one request until the origin has answered to being told of
// it, unless the limit is far. More than telling takes where it is not, so that a key in use never
// waits for that.
inline constexpr Duration kAnswerTime{2'500};

// Whether a pass at `entry`, decided at `at`, may rely on what is held. At the beginning of a
// window its cell is empty for everybody: who was up to date then needs no question.
bool may_rely_after_all(
    const Entry& entry, Instant at, UnixTime now, const Ask& ask, Count remaining);

// The same. What is in use and not near its limit, as nearly all is, is told by few comparisons: a
// quarter of the longest trust is enough where a quarter of the limit is left.
[[gnu::always_inline]] inline bool may_rely(
    const Entry& entry, Instant at, UnixTime now, Ask ask, Count remaining) {
    constexpr int kQuarter = 2;
    constexpr auto kYoung = static_cast<std::uint64_t>(kFreshness.count()) >> kQuarter;
    static_assert(kYoung <= static_cast<std::uint64_t>(kAnswerTime.count()));
    const auto milliseconds = [](UnixTime time) {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    };
    // Unsigned: large for a refresh that never was, or lies ahead.
    const std::uint64_t age = milliseconds(now) - milliseconds(entry.refreshed_at());
    const auto duration = static_cast<std::uint64_t>(entry.duration().count());
    // Of a limit that is far, a pass is never one of the last.
    const bool has_much_left =
        is_far(remaining, ask.limit) ||
        (remaining > ask.limit >> kQuarter && !is_one_of_the_last(remaining, ask.cost));
    if (age <= kYoung && age <= duration >> (2 * kQuarter) && has_much_left) [[likely]]
        return true;
    // A copy, so that the original, which has no address, stays in registers.
    return may_rely_after_all(entry, at, now, Ask{ask.cost, ask.limit}, remaining);
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_TRUST_H_
