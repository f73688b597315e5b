#include "decide/debit.h"

#include "counter/epoch.h"
#include "decide/single.h"
#include "window/sliding.h"

namespace sluice {
namespace {

// The result of adding a cost to a cell.
struct Entered {
    Instant at;       // kClosed: the entry was closed, and nothing was added
    Count added;      // less than the cost where the count is saturated
    Verdict verdict;  // on the counts before
};

// Adds the cost of `ask` at `at`, which locate() gave for `now`. The loads have the order of
// try_admit(). Ends as admit_after_race() does: a try fails only if another thread changed the cell
// or moved the ring.
Entered enter(Entry& entry, Instant at, UnixTime now, Ask ask) {
    for (;;) {
        const Spent foreign{.current = entry.foreign(at.sequence),
                            .previous = entry.foreign(at.sequence - 1)};
        CellCount& cell = entry.admitted(at.sequence);
        const LapCount current = cell.load();
        const LapCount previous = entry.admitted(at.sequence - 1).load();
        if (!current.belongs_to(at.sequence) || !previous.belongs_to(at.sequence - 1)) {
            at = entry.relocate(at, now);
            if (at.sequence == Entry::kClosed) return {at, 0, {}};
            continue;
        }
        const Spent spent{.current = foreign.current + current.count(),
                          .previous = foreign.previous + previous.count()};
        const Verdict verdict = weigh(spent, at.elapsed, entry.duration(), ask);
        const Count added = saturating_add(current.count(), ask.cost) - current.count();
        if (added == 0 || cell.add_to(current, added)) return {at, added, verdict};
    }
}

}  // namespace

Decision debit(Table& table, const Request& request, UnixTime now) {
    const EpochPin pin;
    const HashedRequest hashed = table.key(request).hashed_request();
    const Ask ask = ask_of(request);
    Entry* entry = nullptr;
    Entered entered{};
    do {  // ends: each repetition follows the removal of the key's entry by another thread
        Instant at;
        entry = &table.entry_for(LimitKey(hashed), now, at);
        entry->note_use(ask.limit, now);
        entered = enter(*entry, at, now, ask);
    } while (entered.at.sequence == Entry::kClosed);

    const bool passed = entered.verdict.passed;
    Decision decision{.passed = passed,
                      .limit = request.limit,
                      .remaining = static_cast<std::int64_t>(entered.verdict.remaining),
                      .reset_at = start_of(entered.at.sequence + 1, request.duration),
                      .retry_at = std::nullopt};
    if (!passed) {
        decision.retry_at = retry_at(*entry, entered.at, now, ask);
        note_denial(table, *entry, now, decision.retry_at);
    }
    if (entered.added != 0 && table.sharing() != Sharing::kAlone) {
        table.settle(*entry, entered.at.sequence, entered.added, request);
        if (table.sharing() == Sharing::kShared) table.changed().urge(*entry);
    }
    return decision;
}

}  // namespace sluice
