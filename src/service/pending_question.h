// A question on its way to a decision, and the deadline by which it has one.
#ifndef SLUICE_SERVICE_PENDING_QUESTION_H_
#define SLUICE_SERVICE_PENDING_QUESTION_H_

#include <sluice/limiter.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "service/question.h"

namespace sluice {

// Normally the region's thread decides a question. When that is too late, whoever notices decides
// it instead: the caller that waits, or the thread that watches deadlines. A lock makes sure that
// the question is decided once and handed over once. Nobody holds it longer than a decision from
// memory takes.
//
// Thread-safe, but for stale(), which belongs to the region's thread.
class PendingQuestion {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Finished = std::function<void(const PendingQuestion&)>;

    // `deadline` counts from the caller's call. `finished`, which may be empty, is called after the
    // decision was handed over.
    PendingQuestion(std::shared_ptr<Question> question, Time deadline, Finished finished = {})
        : question_(std::move(question)), deadline_(deadline), finished_(std::move(finished)) {}
    PendingQuestion(const PendingQuestion&) = delete;
    PendingQuestion& operator=(const PendingQuestion&) = delete;

    Time deadline() const { return deadline_; }
    std::span<const Request> stale() const { return question_->stale(); }
    UnixTime now() const { return question_->now(); }
    std::size_t size() const { return question_->size(); }
    Question::Kind kind() const { return question_->kind(); }

    // Decides if the counts held are good enough. True if it is decided, by this call or before.
    bool decide_as_held();

    // Decides by the counts held, and returns what Question::decide() does. None, and nothing was
    // spent, if it was decided before.
    std::optional<bool> decide();

    // The origin has granted it. Does nothing if it was decided before: the node then
    // has credit at the origin, which its next request uses.
    void accept_grant(const Grant& grant);

    // Hands the decision over, once. Does nothing while it is undecided.
    void finish();

  private:
    const std::shared_ptr<Question> question_;
    const Time deadline_;
    const Finished finished_;
    Mutex mutex_;
    bool is_decided_ SLUICE_GUARDED_BY(mutex_) = false;
    bool is_finished_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_PENDING_QUESTION_H_
