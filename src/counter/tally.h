// Counters that the shards of one table share: keys held, and statistics.
#ifndef SLUICE_COUNTER_TALLY_H_
#define SLUICE_COUNTER_TALLY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice {

// Thread-safe. Relaxed throughout: no number publishes other memory. On cache lines of its own, so
// that threads that count don't invalidate what other threads only read.
class alignas(64) Tally {
  public:
    explicit Tally(std::size_t max_keys) : max_keys_(max_keys) {}

    // Takes one of the places that the cap allows; false if all are taken.
    bool try_hold_key() {
        std::size_t held = held_.load(std::memory_order_relaxed);
        // Ends: each repetition follows another thread's key.
        while (held < max_keys_) {
            if (held_.compare_exchange_weak(held, held + 1, std::memory_order_relaxed)) return true;
        }
        return false;
    }
    void hold_key_beyond_cap() { held_.fetch_add(1, std::memory_order_relaxed); }
    void drop_key() { held_.fetch_sub(1, std::memory_order_relaxed); }

    // Twice the cap: from here on, entries with unsynced counts are evicted.
    bool is_far_beyond_cap() const { return held() >= 2 * max_keys_; }

    // Keys that are being removed, and are still held.
    void begin_leaving() { leaving_.fetch_add(1, std::memory_order_relaxed); }
    void end_leaving() { leaving_.fetch_sub(1, std::memory_order_relaxed); }
    // Whether the cap has room for one more once those are removed.
    bool will_have_room() const {
        const std::size_t leaving = leaving_.load(std::memory_order_relaxed);
        return leaving > 0 && held() < max_keys_ + leaving;
    }
    // Whether more than the cap are held, without those: nothing could be evicted.
    bool is_beyond_cap() const {
        return held() > max_keys_ + leaving_.load(std::memory_order_relaxed);
    }
    std::size_t held() const { return held_.load(std::memory_order_relaxed); }

    using Counter = std::atomic<std::uint64_t>;
    Counter created{0};
    Counter expired{0};
    Counter started_over{0};  // removed since the clock had stepped back
    Counter evicted{0};
    Counter evicted_unsynced{0};  // of these, with unsynced counts
    Counter cas_retries{0};
    Counter strict_activations{0};

    static void add(Counter& counter, std::uint64_t n = 1) {
        counter.fetch_add(n, std::memory_order_relaxed);
    }

  private:
    const std::size_t max_keys_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> leaving_{0};
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_TALLY_H_
