// How a decision that needs fresher counts comes to its end.
#ifndef SLUICE_SERVICE_ASKING_H_
#define SLUICE_SERVICE_ASKING_H_

#include <sluice/limiter.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "regional/refresh.h"
#include "regional/region.h"
#include "service/question.h"
#include "service/waits.h"

namespace sluice {

// A question is decided when the region has read its keys, or failed to. A pass that may make the
// difference elsewhere is told to the origin before its caller hears of it; a confirmation that
// takes too long is not waited for.
//
// A stepped object: its clock is given, and its driver ends the waits that are due. Owned by the
// region's thread, but for count_fallback() and fallbacks(), which any may call.
class Asking {
  public:
    using Time = Region::Time;

    struct Config {
        Refresh::Region kind = Refresh::Region::kShared;
        std::chrono::milliseconds timeout;  // of a question, from its beginning
        std::function<Time()> clock = std::chrono::steady_clock::now;
    };

    // All must outlive it, but for the region: that may go once nobody asks any more.
    Asking(Region& region, Waits& waits, Config config);
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    // Has the counts read, has the question decided, and finishes it.
    void begin(const std::shared_ptr<Question>& question);

    // Decides by what is held, at once.
    void decide_now(Question& question);

    // Decisions that needed fresher counts and were made without.
    std::uint64_t fallbacks() const { return fallbacks_.load(std::memory_order_relaxed); }
    // A decision at `now` was one.
    void count_fallback(UnixTime now);

  private:
    void on_heard(const std::shared_ptr<Question>& question, Time deadline, bool is_fresh);
    void confirm(const std::shared_ptr<Question>& question,
                 std::span<const Request> requests,
                 Time deadline);

    Region& region_;
    Waits& waits_;
    const Config config_;
    std::atomic<std::uint64_t> fallbacks_{0};  // relaxed: it stands for itself
};

}  // namespace sluice

#endif  // SLUICE_SERVICE_ASKING_H_
