// BusHealth: whether the bus delivers announcements.
#ifndef SLUICE_GLOBAL_BUS_HEALTH_H_
#define SLUICE_GLOBAL_BUS_HEALTH_H_

#include <atomic>
#include <chrono>

namespace sluice {

// A node receives its own announcements, too. The bus is silent once nothing was received, an echo
// or an announcement of another node, for kSilence after something was sent. Until something is
// received again, counts that can't wait are published in the store as well.
//
// Thread-safe.
class BusHealth {
  public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::seconds kSilence{3};

    void sent(Time now) {
        Time none = kNothing;
        unanswered_since_.compare_exchange_strong(none, now, std::memory_order_relaxed);
    }
    // Returns whether the bus was silent before.
    bool received(Time now) {
        const Time since = unanswered_since_.exchange(kNothing, std::memory_order_relaxed);
        return is_silence(since, now);
    }
    bool is_silent(Time now) const {
        return is_silence(unanswered_since_.load(std::memory_order_relaxed), now);
    }

  private:
    static constexpr Time kNothing = Time::max();
    static bool is_silence(Time since, Time now) {
        return since != kNothing && now - since >= kSilence;
    }

    // When the first message since the last one received was sent. Relaxed: it stands for itself.
    std::atomic<Time> unanswered_since_{kNothing};
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_BUS_HEALTH_H_
