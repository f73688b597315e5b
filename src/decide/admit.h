// Admission of one request at one entry: weigh it against the counts, apply the sharing rule, and
// add its cost by compare-and-swap.
#ifndef SLUICE_DECIDE_ADMIT_H_
#define SLUICE_DECIDE_ADMIT_H_

#include <sluice/time.h>

#include <cstdint>
#include <optional>

#include "counter/entry.h"
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

// After a denial at `at`: when the same request would pass if nothing else were spent.
std::optional<UnixTime> retry_at(const Entry& entry, Instant at, Ask ask);

}  // namespace sluice

#endif  // SLUICE_DECIDE_ADMIT_H_
