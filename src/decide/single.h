// One request, from its fields to its decision.
#ifndef SLUICE_DECIDE_SINGLE_H_
#define SLUICE_DECIDE_SINGLE_H_

#include <sluice/limiter.h>

#include <utility>

#include "base/clock.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "decide/admit.h"

namespace sluice {

inline Ask ask_of(const Request& request) {
    return {.cost = static_cast<Count>(request.cost), .limit = static_cast<Count>(request.limit)};
}

// What a table notes about a denial: in a region, its key is strict for one duration.
inline void note_denial(const Table& table, Entry& entry, UnixTime now) {
    if (table.sharing() == Sharing::kShared) entry.make_strict(now + entry.duration());
}

inline void note_retries(Table& table, const Admission& admission) {
    if (admission.retries == 0) [[likely]]
        return;
    Tally::add(table.tally().cas_retries, admission.retries);
}

// Where a request's time comes from.
enum class Clock { kCaller, kCoarse };

// Decides a valid request, and writes `decision` unless a fresher count is needed first; nothing
// was spent then. By the coarse clock, a request near the end of a window is decided at the exact
// time: else some threads would still spend in a window that others have left.
[[gnu::always_inline]] inline Outcome decide(Table& table,
                                             const Request& request,
                                             std::pair<UnixTime, Clock> time,
                                             Freshness freshness,
                                             Decision& decision) {
    auto [now, clock] = time;
    const LimitKey key = table.key(request);
    const Ask ask = ask_of(request);
    decision.limit = request.limit;
    const EpochPin pin;
    Instant at;
    Entry* found = &table.entry_for(key, now, at);
    if (clock == Clock::kCoarse && found->duration() - at.elapsed <= kCoarseClockLag) [[unlikely]] {
        now = exact_wall_time();
        found = &table.entry_for(key, now, at);
    }
    Entry& entry = *found;
    entry.note_use(ask.limit, now);
    const Admission admission =
        admit(entry, {.at = at, .now = now, .ask = ask, .freshness = freshness});
    note_retries(table, admission);
    decision.passed = admission.outcome == Outcome::kPassed;
    decision.remaining = static_cast<std::int64_t>(admission.remaining);
    decision.reset_at = start_of(admission.at.sequence + 1, request.duration);
    decision.retry_at.reset();
    if (admission.outcome == Outcome::kDenied) {
        note_denial(table, entry, now);
        decision.retry_at = retry_at(entry, admission.at, ask);
    } else if (decision.passed && ask.cost != 0) {
        table.settle(entry, admission.at.sequence, ask.cost, [&key] { return key; });
    }
    return admission.outcome;
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_SINGLE_H_
