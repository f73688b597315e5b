// How a decision that needs fresher counts comes to its end.
#ifndef SLUICE_SERVICE_ASKING_H_
#define SLUICE_SERVICE_ASKING_H_

#include <sluice/limiter.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "regional/refresh.h"
#include "regional/region.h"
#include "service/pending_question.h"
#include "service/waits.h"

namespace sluice {

// A question is decided when the region has read its keys, or failed to. A pass that may make the
// difference elsewhere is told to the origin before its caller hears of it. At its deadline, a
// question is decided by what is held, and a confirmation is not waited for any longer.
//
// A stepped object: its driver ends the waits that are due. Owned by the region's thread, but for
// expire(), count_fallback() and fallbacks(), which any may call.
class Asking {
  public:
    // All must outlive it, but for the region: that may go once nobody asks any more.
    Asking(Region& region, Waits& waits, Refresh::Region kind = Refresh::Region::kShared)
        : region_(region), waits_(waits), kind_(kind) {}
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    // Has the counts read, has the question decided, and finishes it, by its deadline.
    void begin(const std::shared_ptr<PendingQuestion>& question);

    // Decides by what is held, unless it is decided, and finishes it. True if it was undecided:
    // that is a fallback, and is counted.
    bool expire(PendingQuestion& question);

    // Decisions that needed fresher counts and were made without.
    std::uint64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }
    // A decision at `now` was one.
    void count_fallback(UnixTime now);

  private:
    void on_heard(PendingQuestion& question, const Waits::Name& wait, bool is_fresh);

    Region& region_;
    Waits& waits_;
    const Refresh::Region kind_;
    std::atomic<std::uint64_t> fallbacks_{0};  // relaxed: it stands for itself
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_ASKING_H_
