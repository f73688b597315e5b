// One request, from its fields to its decision: it is admitted at the entry of its key, by
// compare-and-swap, and the result is settled and reported. `decide` is the whole of it; batches
// (batch.h) use the parts.
#ifndef SLUICE_DECIDE_SINGLE_H_
#define SLUICE_DECIDE_SINGLE_H_

#include <sluice/time.h>
#include <sluice/types.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "counter/entry.h"
#include "counter/epoch.h"
#include "counter/table.h"
#include "window/sharing.h"
#include "window/sliding.h"

namespace sluice {

// Whether a pass must satisfy the sharing rule (window/sharing.h). It is skipped where the counts
// were read for this request, or there is no origin.
enum class SharingRule { kApply, kSkip };

// Whether a pass adds the cost, or is only checked.
enum class Purpose { kSpend, kCheck };

enum class AdmitOutcome {
    kPassed,
    kDenied,
    kAskOrigin,  // it would pass, but the sharing rule leaves it to the origin; nothing was entered
    // The entry was closed and the cells are gone; nothing was entered. The caller looks the key up
    // again. Only from admit().
    kEntryClosed,
};

// The result of one attempt.
struct Admission {
    AdmitOutcome outcome;
    Instant at;             // where it was decided
    Count remaining;        // on a pass: the largest cost that would pass afterwards
    std::uint64_t retries;  // how often another thread was faster
    bool needs_flush;       // on a pass: the key should be written to the origin next
};

// One request at one entry. `at` is what locate() gave for `now`.
struct Attempt {
    Instant at;
    UnixTime now;
    Ask ask;
    NodeCount nodes = kUnknownNodes;
    SharingRule rule = SharingRule::kApply;
    Purpose purpose = Purpose::kSpend;
};

// A request that fits its limit by the counts of an entry.
struct LocalPass {
    Instant at;
    UnixTime now;
    Ask ask;
    Spent own;        // this node's counts of the two cells, before the request
    Count remaining;  // after the request
    NodeCount nodes;
};

// Applies the sharing rule to `pass`.
LocalVerdict apply_rule(const Entry& entry, const LocalPass& pass);

// The same, with a fast path for a key with a young view of which this node has spent little,
// synced or not: a few comparisons and no further cache line.
[[gnu::always_inline]] inline LocalVerdict local_verdict(const Entry& entry, LocalPass pass) {
    const auto milliseconds = [](UnixTime time) {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    };
    // Unsigned: large for a view that was never read, or lies ahead.
    const std::uint64_t age = milliseconds(pass.now) - milliseconds(entry.refreshed_at());
    const bool is_young = age <= static_cast<std::uint64_t>(kMaxViewAge.count()) &&
                          age * kViewParts <= static_cast<std::uint64_t>(entry.duration().count());
    const Wide spent = Wide{pass.own.current + pass.own.previous + pass.ask.cost};
    if (is_young && pass.nodes != kUnknownNodes &&
        spent * (2 * kShareParts * pass.nodes) <= pass.remaining) [[likely]]
        return LocalVerdict::kPass;
    return apply_rule(entry, pass);
}

// Decides `attempt` at `entry` and, on a pass that spends, adds its cost to `admitted`. False if
// another thread changed the current cell or moved the ring meanwhile; nothing was decided then.
//
// The decision is atomic as of the moment when the previous cell is loaded. The current cell is
// loaded before and swapped after that, so it did not change in between; and whatever is added to
// the previous cell later, by a thread whose clock is behind, comes after this decision. Counts of
// peers and other regions are loaded first of all: open() empties a place's `admitted` before
// these, so a count that was missed because the ring moved shows in the loads that follow.
[[gnu::always_inline]] inline bool try_admit(Entry& entry, Attempt attempt, Admission& admission) {
    const auto [sequence, elapsed] = attempt.at;
    const Ask ask = attempt.ask;
    CellCount& current_cell = entry.admitted(sequence);
    Spent spent{.current = 0, .previous = 0};
    if (entry.has_foreign()) spent = {entry.foreign(sequence), entry.foreign(sequence - 1)};
    const LapCount current = current_cell.load();
    const LapCount previous = entry.admitted(sequence - 1).load();
    if (!current.belongs_to(sequence) || !previous.belongs_to(sequence - 1)) [[unlikely]]
        return false;
    const Spent own{.current = current.count(), .previous = previous.count()};
    spent.current += own.current;
    spent.previous += own.previous;
    const Verdict verdict = weigh(spent, elapsed, entry.duration(), ask);
    admission.at.sequence = sequence;
    admission.at.elapsed = elapsed;
    admission.remaining = 0;
    admission.retries = 0;
    admission.needs_flush = attempt.rule == SharingRule::kSkip;
    if (!verdict.passed) {
        admission.outcome = AdmitOutcome::kDenied;
        return true;
    }
    if (attempt.rule == SharingRule::kApply) {
        const LocalVerdict local = local_verdict(entry,
                                                 {.at = attempt.at,
                                                  .now = attempt.now,
                                                  .ask = ask,
                                                  .own = own,
                                                  .remaining = verdict.remaining,
                                                  .nodes = attempt.nodes});
        if (local == LocalVerdict::kAskOrigin) [[unlikely]] {
            admission.outcome = AdmitOutcome::kAskOrigin;
            return true;
        }
        admission.needs_flush = local == LocalVerdict::kPassAndFlush;
    }
    admission.outcome = AdmitOutcome::kPassed;
    admission.remaining = verdict.remaining;
    const bool spends = attempt.purpose == Purpose::kSpend && ask.cost != 0;
    return !spends || current_cell.add_to(current, ask.cost);
}

// Repeats try_admit() until it decides, after the first try failed.
Admission admit_after_race(Entry& entry, Attempt attempt);

// Decides `attempt` at `entry`. The caller settles or undoes a cost that was added.
[[gnu::always_inline]] inline Admission admit(Entry& entry, Attempt attempt) {
    Admission admission;
    if (try_admit(entry, attempt, admission)) [[likely]]
        return admission;
    return admit_after_race(entry, attempt);
}

// Subtracts a cost that a batch has added. A cell that is gone needs no undo.
inline void undo(Entry& entry, Sequence sequence, Count cost) {
    entry.admitted(sequence).subtract(sequence, cost);
}

// A request at `now` was denied at `at`: when it would pass if nothing else were spent.
std::optional<UnixTime> retry_at(const Entry& entry, Instant at, UnixTime now, Ask ask);

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
