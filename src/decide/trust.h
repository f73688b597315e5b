// How long what a node has heard of the others may be trusted.
#ifndef SLUICE_DECIDE_TRUST_H_
#define SLUICE_DECIDE_TRUST_H_

#include <sluice/time.h>

#include <algorithm>

#include "counter/entry.h"
#include "window/count.h"
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
// it. More than a round trip takes, so that a key in use never waits for that.
inline constexpr Duration kAnswerTime{250};

// Whether a pass at `entry`, decided at `at`, may rely on what is held. At the beginning of a
// window its cell is empty for everybody: who was up to date then needs no question.
inline bool may_rely(
    const Entry& entry, Instant at, UnixTime now, const Ask& ask, Count remaining) {
    // A strict entry is never refreshed, so its deadline, which lies elsewhere, is not looked at.
    const UnixTime refreshed = entry.refreshed_at();
    if (refreshed == Entry::kAlways) return true;
    if (refreshed == Entry::kNever) return false;
    if (is_one_of_the_last(remaining, ask.cost)) return false;
    const Duration duration = entry.duration();
    const auto is_good_for = [&](Duration age) {
        return is_young_enough(std::chrono::abs(age), remaining, ask.limit, duration);
    };
    const UnixTime began = start_of(at.sequence, duration);
    const bool was_good_then = refreshed < began && is_good_for(began - refreshed);
    const Duration age = now - (was_good_then ? began : refreshed);
    return is_good_for(age) && (age <= kAnswerTime || !entry.is_untold());
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_TRUST_H_
