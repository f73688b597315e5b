#include "decide/single.h"

#include <algorithm>

namespace sluice {

namespace {

Located locate(Table& table, HashedRequest request, UnixTime now) {
    Instant at;
    Entry& entry = table.entry_for(LimitKey(request), now, at);
    return {.entry = &entry, .at = at, .now = now};
}

}  // namespace

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
    Entry& entry = *locate(table, hashed_request, now).entry;
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
    const std::optional<UnixTime> retry = retry_at(entry, at, ask_of(request));
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
