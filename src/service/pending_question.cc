#include "service/pending_question.h"

namespace sluice {

bool PendingQuestion::decide_as_held() {
    const MutexLock lock(mutex_);
    if (!is_decided_) is_decided_ = question_->decide_as_held();
    return is_decided_;
}

std::optional<bool> PendingQuestion::decide() {
    const MutexLock lock(mutex_);
    if (is_decided_) return std::nullopt;
    is_decided_ = true;
    return question_->decide();
}

void PendingQuestion::accept_grant(const Grant& grant) {
    const MutexLock lock(mutex_);
    if (is_decided_) return;
    is_decided_ = true;
    question_->accept_grant(grant);
}

void PendingQuestion::finish() {
    {
        const MutexLock lock(mutex_);
        if (!is_decided_ || is_finished_) return;
        is_finished_ = true;
    }
    // Without the lock: whoever is called may ask again.
    question_->finish();
    if (finished_) finished_(*this);
}

}  // namespace sluice
