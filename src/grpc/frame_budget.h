// A bound on frames that cost the server work and bring no call forward.
#ifndef SLUICE_GRPC_FRAME_BUDGET_H_
#define SLUICE_GRPC_FRAME_BUDGET_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sluice::grpc {

// A token bucket: a client may send `burst` such frames at once, `per_second` in the long run, and
// some more for each call that was answered. It has no clock; the caller passes the time.
//
// Thread-compatible.
class FrameBudget {
  public:
    using Time = std::chrono::steady_clock::time_point;
    struct Rate {
        std::int64_t burst;
        std::int64_t per_second;
    };

    explicit FrameBudget(Rate rate) : rate_(rate), left_(rate.burst) {}

    void refill(Time now) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - since_);
        if (seconds.count() <= 0) return;
        // Capped before the product, which could overflow.
        const std::int64_t count = std::min<std::int64_t>(seconds.count(), rate_.burst);
        since_ += seconds;
        add(count * rate_.per_second);
    }

    void add(std::int64_t frames) { left_ = std::min(left_ + frames, rate_.burst); }

    // False: the client has sent too many.
    bool spend() { return --left_ >= 0; }

  private:
    Rate rate_;
    std::int64_t left_;
    Time since_{};
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_FRAME_BUDGET_H_
