// Has the origin decide the requests that the sharing rule leaves to it.
#ifndef SLUICE_SERVICE_ORIGIN_DECIDER_H_
#define SLUICE_SERVICE_ORIGIN_DECIDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "regional/region.h"
#include "service/deadline_queue.h"
#include "service/pending_decision.h"

namespace sluice {

// A single request is decided by the origin. A batch is decided here after its keys were read, and
// written to the origin before it is delivered. At its deadline, a pending decision is made from
// local counts.
//
// A stepped object: its driver ends the waits that are due. Owned by the region's thread, except
// for expire(), count_fallback() and fallbacks(), which any thread may call.
class OriginDecider {
  public:
    // `region` and `deadlines` must outlive every pending decision that was begun.
    OriginDecider(Region& region, DeadlineQueue& deadlines)
        : region_(region), deadlines_(deadlines) {}
    OriginDecider(const OriginDecider&) = delete;
    OriginDecider& operator=(const OriginDecider&) = delete;

    // Decides and finishes `pending` by its deadline.
    void begin(const std::shared_ptr<PendingDecision>& pending);

    // Decides `pending` from local counts, unless it is decided, and finishes it. True if it was
    // undecided: that is counted as a fallback.
    bool expire(PendingDecision& pending);

    // The number of decisions left to the origin, but made from local counts.
    std::uint64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }
    void count_fallback() { fallbacks_.fetch_add(1, std::memory_order_relaxed); }

  private:
    void spend(const std::shared_ptr<PendingDecision>& pending, const DeadlineQueue::Name& wait);
    void on_verdict(const std::shared_ptr<PendingDecision>& pending,
                    const DeadlineQueue::Name& wait,
                    std::optional<OriginVerdict> verdict);
    void on_read(PendingDecision& pending, const DeadlineQueue::Name& wait, bool is_answered);

    Region& region_;
    DeadlineQueue& deadlines_;
    std::atomic<std::uint64_t> fallbacks_{0};  // relaxed: a statistic
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_ORIGIN_DECIDER_H_
