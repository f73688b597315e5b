// One request, from its fields to its decision.
#ifndef SLUICE_DECIDE_SINGLE_H_
#define SLUICE_DECIDE_SINGLE_H_

#include <sluice/limiter.h>

#include <optional>

#include "base/clock.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "decide/admit.h"

namespace sluice {

inline Ask ask_of(const Request& request) {
    return {.cost = static_cast<Count>(request.cost), .limit = static_cast<Count>(request.limit)};
}

// Records a denial. In a region, it puts the key into strict mode for one duration, unless no count
// could have avoided it: a request that never passes, whose retry_at() is none, says nothing about
// the counts.
inline void note_denial(Table& table,
                        Entry& entry,
                        UnixTime now,
                        const std::optional<UnixTime>& retry_at) {
    if (!retry_at || table.sharing() != Sharing::kShared ||
        !entry.make_strict(now, now + entry.duration()))
        return;
    Tally::add(table.tally().strict_activations);
}

inline void note_retries(Table& table, const Admission& admission) {
    if (admission.retries == 0) [[likely]]
        return;
    Tally::add(table.tally().cas_retries, admission.retries);
}

// Announces a cost that was admitted in `entry`, and has the key flushed next if it needs that.
[[gnu::always_inline]] inline void settle_pass(Table& table,
                                               Entry& entry,
                                               const Admission& admission,
                                               const Request& request) {
    const Count cost = ask_of(request).cost;
    if (cost == 0) return;
    table.settle(entry, admission.at.sequence, cost, request);
    if (admission.needs_flush && table.sharing() == Sharing::kShared) [[unlikely]]
        table.changed().urge(entry);
}

// Where a request's time comes from: its caller, or the system's clock. The coarse clock costs a
// quarter of the exact one, and may lag by a tick. Within a window that does not matter: the weight
// of the past lags by the same tick. It would matter to a caller that slept until `retry_at` and is
// told to wait again; and near the end of a window, where some threads would still spend in a
// window that others have left. Both are decided by the exact clock.
struct CallersTime {
    static constexpr Duration kLag{0};
    UnixTime now;
    UnixTime coarse() const { return now; }
    UnixTime exact() const { return now; }
};
struct SystemTime {
    static constexpr Duration kLag = kCoarseClockLag;
    static UnixTime coarse() { return coarse_wall_time(); }
    static UnixTime exact() { return exact_wall_time(); }
};

// Decides a valid request at `now` and writes `decision`, which is a new one. It means nothing if
// the origin has to decide; nothing was spent then. The caller holds an EpochPin.
Outcome decide_at(
    Table& table, HashedRequest request, UnixTime now, Freshness freshness, Decision& decision);

// Where a request at `now` was located.
struct Located {
    Entry* entry;
    Instant at;
    UnixTime now;
};

// The rest of decide_at(), from there on. If the entry was closed meanwhile, the key is looked up
// again.
Outcome decide_located(
    Table& table, HashedRequest request, Located located, Freshness freshness, Decision& decision);

// Enters the cost of a request at `now` that the origin has granted, and writes `decision`. The
// origin holds the cost already, so nothing has to be flushed. To a later entry of the key, what an
// earlier one was granted is spent by others. The caller holds an EpochPin.
void enter_grant(
    Table& table, HashedRequest request, UnixTime now, const Grant& grant, Decision& decision);

// The same as decide_at() by what is held, however old that is. Pins by itself.
inline Outcome decide_from_local(Table& table,
                                 const Request& request,
                                 UnixTime now,
                                 Decision& decision) {
    const EpochPin pin;
    const HashedRequest hashed = table.key(request).hashed_request();
    return decide_at(table, hashed, now, Freshness::kJustRefreshed, decision);
}

// A denial of a request at `now`, which was decided at `at`.
struct Denial {
    Entry& entry;
    Instant at;
    UnixTime now;
    Duration lag;  // the request's own time may be ahead of `now` by so much
};

// Writes `decision`, a new one. False if it could be a pass by a clock that is ahead by `lag`;
// nothing was noted then.
bool report_denial(Table& table, const Request& request, const Denial& denial, Decision& decision);

// The same as decide_at() by the time that it reads. A request that passes at a key which is held,
// as nearly all do, takes one straight path here; what is neither that nor a plain denial begins
// anew in decide_at(). The clock is read before anything of the entry is: the less there is between
// a read of the entry that has to wait for memory and the next decision, the more of that one the
// processor does meanwhile.
template <bool has_region, class Time>
[[gnu::always_inline]] inline Outcome decide(Table& table,
                                             const Request& request,
                                             Time time,
                                             Decision& decision) {
    // Without others in the region, the counts held are all there are.
    constexpr auto freshness = has_region ? Freshness::kAsHeld : Freshness::kJustRefreshed;
    const LimitKey key = table.key(request);
    const Ask ask = ask_of(request);
    const EpochPin pin;
    Entry* const entry = table.guess(key.hash());
    const UnixTime now = time.coarse();
    Instant at;
    if (entry != nullptr && entry->has_key(key) && entry->locate_in_newest(now, at) &&
        entry->duration() - at.elapsed > Time::kLag) [[likely]] {
        entry->note_use(ask.limit, now);
        Admission admission;
        const Attempt attempt{.at = at,
                              .now = now,
                              .ask = ask,
                              .nodes = has_region ? table.nodes() : kUnknownNodes,
                              .freshness = freshness};
        if (!try_admit(*entry, attempt, admission)) [[unlikely]] {
            Tally::add(table.tally().cas_retries, 1);
        } else if (admission.outcome == Outcome::kPassed) [[likely]] {
            decision.passed = true;
            decision.limit = request.limit;
            decision.remaining = static_cast<std::int64_t>(admission.remaining);
            decision.reset_at = start_of(at.sequence + 1, request.duration);
            if (has_region || table.sharing() != Sharing::kAlone)
                settle_pass(table, *entry, admission, request);
            return Outcome::kPassed;
        } else if (admission.outcome == Outcome::kDenied &&
                   report_denial(table, request, {*entry, at, now, Time::kLag}, decision)) {
            return Outcome::kDenied;
        }
    }
    return decide_at(table, key.hashed_request(), time.exact(), freshness, decision);
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_SINGLE_H_
