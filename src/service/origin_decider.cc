#include "service/origin_decider.h"

namespace sluice {

void OriginDecider::begin(const std::shared_ptr<PendingDecision>& pending) {
    if (pending->try_decide()) return pending->finish();
    const DeadlineQueue::Name wait =
        deadlines_.add(pending->deadline(), [this, pending] { expire(*pending); });
    if (pending->kind() == PendingDecision::Kind::kSingle) {
        spend(pending, wait);
    } else {
        region_.sync(pending->stale(), pending->now(), [this, pending, wait](bool is_answered) {
            on_read(*pending, wait, is_answered);
        });
    }
}

void OriginDecider::spend(const std::shared_ptr<PendingDecision>& pending,
                          const DeadlineQueue::Name& wait) {
    region_.spend(pending->stale().front(),
                  pending->now(),
                  [this, pending, wait](std::optional<OriginVerdict> verdict) {
                      on_verdict(pending, wait, verdict);
                  });
}

// What the origin has denied is denied here by the counts that came with its answer. Where these do
// not deny it, because the window has turned meanwhile, the sharing rule decides as for any other
// request. Ending the wait finishes the decision.
void OriginDecider::on_verdict(const std::shared_ptr<PendingDecision>& pending,
                               const DeadlineQueue::Name& wait,
                               std::optional<OriginVerdict> verdict) {
    if (!verdict) {
        if (pending->decide_now().has_value()) count_fallback();
    } else if (verdict->granted) {
        pending->accept_grant(verdict->grant);
    } else if (!pending->try_decide()) {
        return spend(pending, wait);
    }
    deadlines_.end(wait);
}

void OriginDecider::on_read(PendingDecision& pending,
                            const DeadlineQueue::Name& wait,
                            bool is_answered) {
    const std::optional<bool> needs_sync = pending.decide_now();
    if (needs_sync && !is_answered) count_fallback();
    if (!needs_sync.value_or(false) || !is_answered) return deadlines_.end(wait);
    region_.sync(pending.stale(), pending.now(), [this, wait](bool) { deadlines_.end(wait); });
}

bool OriginDecider::expire(PendingDecision& pending) {
    const bool was_undecided = pending.decide_now().has_value();
    if (was_undecided) count_fallback();
    pending.finish();
    return was_undecided;
}

}  // namespace sluice
