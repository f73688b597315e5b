// The decision itself: weigh a request against the counts of an entry, and enter its cost if it
// passes.
#ifndef SLUICE_DECIDE_ADMIT_H_
#define SLUICE_DECIDE_ADMIT_H_

#include <sluice/time.h>

#include <cstdint>
#include <optional>

#include "counter/entry.h"
#include "decide/local_rule.h"
#include "window/sharing.h"
#include "window/sliding.h"

namespace sluice {

// Whether a pass has to keep to the sharing rule, or is decided by the counts held in any case:
// they were read for this request, or there is no origin to ask.
enum class Freshness { kAsHeld, kJustRefreshed };

// Whether a pass adds the cost, or only tells that it could.
enum class Purpose { kSpend, kAsk };

enum class Outcome {
    kPassed,
    kDenied,
    kAskOrigin,  // it would pass, but the sharing rule leaves it to the origin; nothing was entered
    // The entry was closed and the cells are gone: the caller looks the key up again. Nothing was
    // entered. Only from admit().
    kEntryClosed,
};

// What came of a request in one entry.
struct Admission {
    Outcome outcome;
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
    Freshness freshness = Freshness::kAsHeld;
    Purpose purpose = Purpose::kSpend;
};

// Decides `attempt` at `entry` and, on a pass that spends, adds its cost to `admitted`. False if
// another thread changed the current cell or moved the ring meanwhile; nothing was decided then.
//
// The decision is atomic as of the moment when the previous cell is loaded. The current cell is
// loaded before and swapped after that, so it did not change in between; and whatever is added to
// the previous cell later, by a thread whose clock is behind, comes after this decision. Counts of
// others are loaded first of all: open() empties a place's `admitted` before its `others`, so a
// foreign count that was missed because the ring moved shows in the loads that follow.
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
    admission.needs_flush = attempt.freshness == Freshness::kJustRefreshed;
    if (!verdict.passed) {
        admission.outcome = Outcome::kDenied;
        return true;
    }
    if (attempt.freshness == Freshness::kAsHeld) {
        const LocalVerdict local = may_pass_locally(entry,
                                                    {.at = attempt.at,
                                                     .now = attempt.now,
                                                     .ask = ask,
                                                     .own = own,
                                                     .remaining = verdict.remaining,
                                                     .nodes = attempt.nodes});
        if (local == LocalVerdict::kAskOrigin) [[unlikely]] {
            admission.outcome = Outcome::kAskOrigin;
            return true;
        }
        admission.needs_flush = local == LocalVerdict::kPassAndFlush;
    }
    admission.outcome = Outcome::kPassed;
    admission.remaining = verdict.remaining;
    const bool spends = attempt.purpose == Purpose::kSpend && ask.cost != 0;
    return !spends || current_cell.add_to(current, ask.cost);
}

// The same until it is decided, after it was not at the first try.
Admission admit_after_race(Entry& entry, Attempt attempt);

// Decides `attempt` at `entry`. A cost that was added is not settled yet: the caller settles it, or
// undoes it.
[[gnu::always_inline]] inline Admission admit(Entry& entry, Attempt attempt) {
    Admission admission;
    if (try_admit(entry, attempt, admission)) [[likely]]
        return admission;
    return admit_after_race(entry, attempt);
}

// Takes back what a pass in a batch has added. A cell that is gone meanwhile needs no undoing.
inline void undo(Entry& entry, Sequence sequence, Count cost) {
    entry.admitted(sequence).subtract(sequence, cost);
}

// After a denial at `at`: when the same request would pass if nobody else came.
std::optional<UnixTime> retry_at(const Entry& entry, Instant at, Ask ask);

}  // namespace sluice

#endif  // SLUICE_DECIDE_ADMIT_H_
