// Decisions that the sharing rule leaves to the origin.
#ifndef SLUICE_SERVICE_ASKING_H_
#define SLUICE_SERVICE_ASKING_H_

#include <sluice/limiter.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "regional/region.h"
#include "service/deadline_queue.h"
#include "service/pending_question.h"

namespace sluice {

// A single request is decided by the origin. A batch is decided here after its keys were read, and
// written to the origin before its caller gets the decision. At its deadline, a question is decided
// by the counts held.
//
// A stepped object: its driver ends the waits that are due. Owned by the region's thread, except
// for expire(), count_fallback() and fallbacks(), which any thread may call.
class Asking {
  public:
    // All must outlive it, except for the region: that may go once nobody asks any more.
    Asking(Region& region, DeadlineQueue& waits) : region_(region), waits_(waits) {}
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    // Has the question decided and finishes it, by its deadline.
    void begin(const std::shared_ptr<PendingQuestion>& question);

    // Decides by what is held, unless it is decided, and finishes it. True if it was undecided:
    // that is a fallback, and is counted.
    bool expire(PendingQuestion& question);

    // Decisions that were the origin's to make, and were made without it.
    std::uint64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }
    void count_fallback() { fallbacks_.fetch_add(1, std::memory_order_relaxed); }

  private:
    void spend(const std::shared_ptr<PendingQuestion>& question, const DeadlineQueue::Name& wait);
    void on_verdict(const std::shared_ptr<PendingQuestion>& question,
                    const DeadlineQueue::Name& wait,
                    std::optional<OriginVerdict> verdict);
    void on_read(PendingQuestion& question, const DeadlineQueue::Name& wait, bool is_answered);

    Region& region_;
    DeadlineQueue& waits_;
    std::atomic<std::uint64_t> fallbacks_{0};  // relaxed: it stands for itself
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_ASKING_H_
