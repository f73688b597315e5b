#include "decide/single.h"

#include <algorithm>

namespace sluice {

namespace {

bool is_held(const Entry& entry, Sequence sequence) {
    return entry.admitted(sequence).load().belongs_to(sequence);
}

Located locate(Table& table, HashedRequest request, UnixTime now) {
    Instant at;
    Entry& entry = table.entry_for(LimitKey(request), now, at);
    return {.entry = &entry, .at = at, .now = now};
}

}  // namespace

LocalVerdict apply_rule(const Entry& entry, const LocalPass& pass) {
    const UnixTime refreshed = entry.refreshed_at();
    if (refreshed == Entry::kNever) return LocalVerdict::kAskOrigin;
    PeerView view = PeerView::kNone;
    if (refreshed >= start_of(pass.at.sequence - 1, entry.duration())) {
        const Duration age = std::chrono::abs(pass.now - refreshed);
        view = age <= max_view_age(entry.duration()) ? PeerView::kYoung : PeerView::kOld;
    }
    return decide_locally({.nodes = pass.nodes,
                           .view = view,
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

std::optional<UnixTime> retry_at(const Entry& entry, Instant at, UnixTime now, Ask ask) {
    const Duration duration = entry.duration();
    const auto from = [&](Instant instant) {
        const Held held{entry.spent(instant.sequence - 1),
                        entry.spent(instant.sequence),
                        entry.spent(instant.sequence + 1),
                        entry.spent(instant.sequence + 2)};
        return first_pass(held, instant, duration, ask);
    };
    const auto starts_over = entry.starts_over_in(now);
    if (!starts_over) return from(at);
    // The clock has stepped back. The key starts over, unless the clock has come by then to where a
    // request is only late, and decided at the oldest instant that is held.
    const Sequence oldest = entry.high() - 1;
    if (*starts_over < oldest - 1) {
        const bool is_possible = ask.limit != 0 && ask.cost <= ask.limit;
        return is_possible ? std::optional(start_of(*starts_over, duration)) : std::nullopt;
    }
    const auto retry = from({.sequence = oldest, .elapsed = Duration::zero()});
    return retry == start_of(oldest, duration) ? start_of(oldest - 1, duration) : retry;
}

AdmitOutcome decide_at(Table& table,
                       HashedRequest hashed_request,
                       UnixTime now,
                       SharingRule rule,
                       Decision& decision) {
    const Located located = locate(table, hashed_request, now);
    return decide_located(table, hashed_request, located, rule, decision);
}

AdmitOutcome decide_located(Table& table,
                            HashedRequest hashed_request,
                            Located located,
                            SharingRule rule,
                            Decision& decision) {
    const Request& request = hashed_request.request;
    const Ask ask = ask_of(request);
    const UnixTime now = located.now;
    Admission admission;
    for (;;) {  // ends: each repetition follows the removal of the key's entry by another thread
        located.entry->note_use(ask.limit, now);
        admission =
            admit(*located.entry,
                  {.at = located.at, .now = now, .ask = ask, .nodes = table.nodes(), .rule = rule});
        note_retries(table, admission);
        if (admission.outcome != AdmitOutcome::kEntryClosed) break;
        located = locate(table, hashed_request, now);
    }
    Entry& entry = *located.entry;
    if (admission.outcome == AdmitOutcome::kDenied) {
        report_denial(table, request, {entry, admission.at, now, Duration::zero()}, decision);
        return AdmitOutcome::kDenied;
    }
    decision = {.passed = admission.outcome == AdmitOutcome::kPassed,
                .limit = request.limit,
                .remaining = static_cast<std::int64_t>(admission.remaining),
                .reset_at = start_of(admission.at.sequence + 1, request.duration),
                .retry_at = std::nullopt};
    if (decision.passed && table.sharing() != Sharing::kAlone)
        settle_pass(table, entry, admission, request);
    return admission.outcome;
}

void enter_grant(Table& table,
                 HashedRequest hashed_request,
                 UnixTime now,
                 const Grant& grant,
                 Decision& decision) {
    const Request& request = hashed_request.request;
    const Ask ask = ask_of(request);
    const Sequence sequence = grant.sequence;
    Entry& entry = table.entry_of(LimitKey(hashed_request), now);
    entry.note_use(ask.limit, now);
    // A cell that is gone needs no count any more.
    if (entry.incarnation() == grant.incarnation) entry.admitted(sequence).add(sequence, ask.cost);
    const Duration elapsed = now - start_of(sequence, request.duration);
    const Spent spent{.current = entry.spent(sequence), .previous = entry.spent(sequence - 1)};
    const Verdict left =
        weigh(spent,
              std::clamp(elapsed, Duration::zero(), request.duration - Duration{1}),
              request.duration,
              {.cost = 0, .limit = ask.limit});
    decision = {.passed = true,
                .limit = request.limit,
                .remaining = static_cast<std::int64_t>(left.remaining),
                .reset_at = start_of(sequence + 1, request.duration),
                .retry_at = std::nullopt};
}

bool report_denial(Table& table, const Request& request, const Denial& denial, Decision& decision) {
    const auto& [entry, at, now, lag] = denial;
    const std::optional<UnixTime> retry = retry_at(entry, at, now, ask_of(request));
    if (lag > Duration::zero() && retry && *retry <= now + lag) return false;
    note_denial(table, entry, now, retry);
    decision = {.passed = false,
                .limit = request.limit,
                .remaining = 0,
                .reset_at = start_of(at.sequence + 1, request.duration),
                .retry_at = retry};
    return true;
}

}  // namespace sluice
