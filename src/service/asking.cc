#include "service/asking.h"

namespace sluice {

void Asking::begin(const std::shared_ptr<PendingQuestion>& question) {
    if (question->decide_as_held()) return question->finish();
    const Waits::Name wait =
        waits_.add(question->deadline(), [this, question] { expire(*question); });
    region_.refresh(question->stale(), question->now(), [this, question, wait](bool is_fresh) {
        on_heard(*question, wait, is_fresh);
    });
}

void Asking::on_heard(PendingQuestion& question, const Waits::Name& wait, bool is_fresh) {
    const auto told_first = question.decide();
    if (told_first && !is_fresh) count_fallback(question.now());
    const bool needs_confirmation =
        told_first && !told_first->empty() && is_fresh && kind_ != Refresh::Region::kExclusive;
    // The end of the wait finishes the question.
    if (!needs_confirmation) return waits_.end(wait);
    region_.confirm(*told_first, [this, wait] { waits_.end(wait); });
}

bool Asking::expire(PendingQuestion& question) {
    const bool was_undecided = question.decide().has_value();
    if (was_undecided) count_fallback(question.now());
    question.finish();
    return was_undecided;
}

void Asking::count_fallback(UnixTime now) {
    fallbacks_.fetch_add(1, std::memory_order_relaxed);
    region_.note_time(now);
}

}  // namespace sluice
