#include "service/asking.h"

namespace sluice {

void Asking::begin(const std::shared_ptr<PendingQuestion>& question) {
    if (question->decide_as_held()) return question->finish();
    const DeadlineQueue::Name wait =
        waits_.add(question->deadline(), [this, question] { expire(*question); });
    if (question->kind() == Question::Kind::kSingle) {
        spend(question, wait);
    } else {
        region_.sync(question->stale(), question->now(), [this, question, wait](bool is_answered) {
            on_read(*question, wait, is_answered);
        });
    }
}

void Asking::spend(const std::shared_ptr<PendingQuestion>& question,
                   const DeadlineQueue::Name& wait) {
    region_.spend(question->stale().front(),
                  question->now(),
                  [this, question, wait](std::optional<OriginVerdict> verdict) {
                      on_verdict(question, wait, verdict);
                  });
}

// What the origin denied is denied by the counts that came with its answer. The end of the wait
// finishes the question.
void Asking::on_verdict(const std::shared_ptr<PendingQuestion>& question,
                        const DeadlineQueue::Name& wait,
                        std::optional<OriginVerdict> verdict) {
    if (verdict && verdict->try_locally) {
        if (!question->decide_as_held()) return spend(question, wait);
    } else if (verdict && verdict->granted) {
        question->accept_grant(verdict->grant);
    } else if (question->decide().has_value() && !verdict) {
        fallbacks_.fetch_add(1, std::memory_order_relaxed);
    }
    waits_.end(wait);
}

void Asking::on_read(PendingQuestion& question, const DeadlineQueue::Name& wait, bool is_answered) {
    const std::optional<bool> needs_sync = question.decide();
    if (needs_sync && !is_answered) fallbacks_.fetch_add(1, std::memory_order_relaxed);
    if (!needs_sync.value_or(false) || !is_answered) return waits_.end(wait);
    region_.sync(question.stale(), question.now(), [this, wait](bool) { waits_.end(wait); });
}

bool Asking::expire(PendingQuestion& question) {
    const bool was_undecided = question.decide().has_value();
    if (was_undecided) fallbacks_.fetch_add(1, std::memory_order_relaxed);
    question.finish();
    return was_undecided;
}

}  // namespace sluice
