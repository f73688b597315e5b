#include "decide/single.h"

namespace sluice {

Outcome decide_at(Table& table,
                  HashedRequest hashed_request,
                  UnixTime now,
                  Freshness freshness,
                  Decision& decision) {
    const LimitKey key(hashed_request);
    const Request& request = hashed_request.request;
    const Ask ask = ask_of(request);
    Instant at;
    Entry& entry = table.entry_for(key, now, at);
    entry.note_use(ask.limit, now);
    const Admission admission =
        admit(entry, {.at = at, .now = now, .ask = ask, .freshness = freshness});
    note_retries(table, admission);
    decision = {.passed = admission.outcome == Outcome::kPassed,
                .limit = request.limit,
                .remaining = static_cast<std::int64_t>(admission.remaining),
                .reset_at = start_of(admission.at.sequence + 1, request.duration),
                .retry_at = std::nullopt};
    if (admission.outcome == Outcome::kDenied) {
        note_denial(table, entry, now);
        decision.retry_at = retry_at(entry, admission.at, ask);
    } else if (decision.passed && ask.cost != 0) {
        table.settle(entry, admission.at.sequence, ask.cost, request);
    }
    return admission.outcome;
}

}  // namespace sluice
