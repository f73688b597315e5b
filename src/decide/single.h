// One request, from its fields to its decision.
#ifndef SLUICE_DECIDE_SINGLE_H_
#define SLUICE_DECIDE_SINGLE_H_

#include <sluice/types.h>

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

// Marks `entry` as changed by an admitted cost, and has it flushed next if needed.
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

// The source of a request's time: its caller, or the system's clock. The coarse clock costs a
// quarter of the exact one, and may lag by a tick. Within a window that does not matter: the weight
// of the past lags by the same tick. It would matter to a caller that slept until `retry_at` and is
// denied again; and near the end of a window, where some threads would still spend in a window that
// other threads have left. Both are decided by the exact clock.
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

// Decides a valid request at `now` and fills in `decision`, a default one. If the origin has to
// decide, nothing was spent and `decision` is meaningless. The caller holds an EpochPin.
AdmitOutcome decide_at(
    Table& table, HashedRequest request, UnixTime now, SharingRule rule, Decision& decision);

// The entry and the instant at which a request at `now` is decided.
struct Located {
    Entry* entry;
    Instant at;
    UnixTime now;
};

// decide_at() for a request that is already located. If the entry was closed meanwhile, the key is
// looked up again.
AdmitOutcome decide_located(
    Table& table, HashedRequest request, Located located, SharingRule rule, Decision& decision);

// Enters the cost of a request at `now` that the origin has granted, and writes `decision`. The
// origin holds the cost already, so nothing has to be flushed. A grant of an earlier entry of the
// key is not entered: it is among the peers' counts. The caller holds an EpochPin.
void enter_grant(
    Table& table, HashedRequest request, UnixTime now, const Grant& grant, Decision& decision);

// Decides from local counts, whatever their age. Takes an EpochPin itself.
inline AdmitOutcome decide_from_local(Table& table,
                                      const Request& request,
                                      UnixTime now,
                                      Decision& decision) {
    const EpochPin pin;
    const HashedRequest hashed = table.key(request).hashed_request();
    return decide_at(table, hashed, now, SharingRule::kSkip, decision);
}

// A denial of a request at `now`, which was decided at `at`.
struct Denial {
    Entry& entry;
    Instant at;
    UnixTime now;
    Duration lag;  // the request's own time may be ahead of `now` by so much
};

// Fills in `decision`, a default one, and records the denial. False, and nothing was recorded, if
// the request could pass by a clock that is ahead by `lag`.
bool report_denial(Table& table, const Request& request, const Denial& denial, Decision& decision);

// The hot path of decide_at(), with a time that it reads itself. A request that passes at a key
// which is held, as nearly all do, takes one straight path here; anything but that and a plain
// denial starts over in decide_at(). The clock is read before anything of the entry is: the fewer
// instructions lie between a read of the entry that misses the cache and the next decision, the
// more of that one the processor executes meanwhile.
template <bool has_origin, class Time>
[[gnu::always_inline]] inline AdmitOutcome decide(Table& table,
                                                  const Request& request,
                                                  Time time,
                                                  Decision& decision) {
    // Without an origin, the local counts are complete.
    constexpr auto rule = has_origin ? SharingRule::kApply : SharingRule::kSkip;
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
                              .nodes = has_origin ? table.nodes() : kUnknownNodes,
                              .rule = rule};
        if (!try_admit(*entry, attempt, admission)) [[unlikely]] {
            Tally::add(table.tally().cas_retries, 1);
        } else if (admission.outcome == AdmitOutcome::kPassed) [[likely]] {
            decision.passed = true;
            decision.limit = request.limit;
            decision.remaining = static_cast<std::int64_t>(admission.remaining);
            decision.reset_at = start_of(at.sequence + 1, request.duration);
            if (has_origin || table.sharing() != Sharing::kAlone)
                settle_pass(table, *entry, admission, request);
            return AdmitOutcome::kPassed;
        } else if (admission.outcome == AdmitOutcome::kDenied &&
                   report_denial(table, request, {*entry, at, now, Time::kLag}, decision)) {
            return AdmitOutcome::kDenied;
        }
    }
    return decide_at(table, key.hashed_request(), time.exact(), rule, decision);
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_SINGLE_H_
