#include "decide/trust.h"

namespace sluice {

bool may_rely_after_all(
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
    return is_good_for(age) &&
           (age <= kAnswerTime || !entry.is_untold() || is_far(remaining, ask.limit));
}

}  // namespace sluice
