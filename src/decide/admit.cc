#include "decide/admit.h"

namespace sluice {
namespace {

bool is_held(const Entry& entry, Sequence sequence) {
    return entry.admitted(sequence).load().belongs_to(sequence);
}

}  // namespace

LocalVerdict apply_rule(const Entry& entry, const LocalPass& pass) {
    const UnixTime refreshed = entry.refreshed_at();
    if (refreshed == Entry::kNever) return LocalVerdict::kAskOrigin;
    const bool is_young = refreshed != Entry::kNotYoung &&
                          std::chrono::abs(pass.now - refreshed) <= max_view_age(entry.duration());
    return decide_locally({.nodes = pass.nodes,
                           .is_young = is_young,
                           .unsynced = entry.unsynced(pass.at.sequence, pass.own) + pass.ask.cost,
                           .remaining = pass.remaining,
                           .limit = pass.ask.limit});
}

// Ends: a try fails only if another thread changed the current cell or moved the ring. Each of
// these is a step of some request that got done, and a request takes two such steps per cell at
// most (to add, to undo). A ring that was closed while it moved may lack every cell that is needed;
// no thread moves it any more, so that ends it, too.
Admission admit_after_race(Entry& entry, Attempt attempt) {
    Admission admission;
    for (std::uint64_t retries = 1;; ++retries) {
        const Sequence sequence = attempt.at.sequence;
        if (!is_held(entry, sequence) || !is_held(entry, sequence - 1)) {
            attempt.at = entry.relocate(attempt.at, attempt.now);
            if (attempt.at.sequence == Entry::kClosed) {
                return {.outcome = AdmitOutcome::kEntryClosed,
                        .at = attempt.at,
                        .remaining = 0,
                        .retries = retries,
                        .needs_flush = false};
            }
        }
        if (try_admit(entry, attempt, admission)) {
            admission.retries = retries;
            return admission;
        }
    }
}

std::optional<UnixTime> retry_at(const Entry& entry, Instant at, Ask ask) {
    const Held held{entry.spent(at.sequence - 1),
                    entry.spent(at.sequence),
                    entry.spent(at.sequence + 1),
                    entry.spent(at.sequence + 2)};
    return first_pass(held, at, entry.duration(), ask);
}

}  // namespace sluice
