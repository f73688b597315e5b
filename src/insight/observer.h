// Observes a node: ends the seconds of its activity, and samples its state.
#ifndef SLUICE_INSIGHT_OBSERVER_H_
#define SLUICE_INSIGHT_OBSERVER_H_

#include <sluice/time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/turn_thread.h"
#include "insight/activity.h"
#include "insight/node_status.h"
#include "metrics/thread_metrics.h"

namespace sluice::insight {

// How many requests fell into each bucket of metrics::Histogram, since the start.
using LatencyCounts = std::array<std::uint64_t, metrics::Histogram::kBuckets>;

// Returns the quantiles of the requests between two readings, interpolated within their buckets.
Latency latency_between(const LatencyCounts& before, const LatencyCounts& after);

// The top keys of a node's region, or of the node alone.
struct RegionTopKeys {
    UnixTime now{};
    TopKeys top;
    std::size_t nodes = 1;    // whose counts are included
    bool is_partial = false;  // the other nodes' counts are not available
};

// The observer has a clock of its own, which starts with the wall clock's time and does not jump.
// At each whole second the owners of recorders pass on what they counted (Activity::collect());
// kCollected later the observer merges it and samples the node's state.
//
// Thread-safe.
class Observer {
  public:
    static constexpr std::chrono::milliseconds kCollected{150};

    struct Options {
        std::uint64_t seed;  // of the hash of keys
        // Both are called by any thread.
        std::function<NodeStatus()> read_status;
        std::function<LatencyCounts()> read_latency;
        // Called after each second, on the observer's thread.
        std::function<void()> on_second = [] {};
    };
    explicit Observer(Options options);
    ~Observer() { stop(); }
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;

    // Starts its thread.
    void start();
    // Ends it. on_second() is not called afterwards.
    void stop() { thread_.stop(); }
    // What the thread does every second.
    void end_second();

    Activity& activity() { return activity_; }
    const Activity& activity() const { return activity_; }

    UnixTime now() const;
    // When the next whole second of its clock begins.
    std::chrono::steady_clock::time_point next_second() const;

    NodeStatus status() const { return options_.read_status(); }
    RegionTopKeys top_keys(const TopQuery& query) const;

  private:
    using Clock = std::chrono::steady_clock;

    const Options options_;
    const UnixTime started_at_;
    const Clock::time_point started_;
    Activity activity_;
    LatencyCounts latency_{};  // as of the last second; of the thread
    TurnThread thread_;
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_OBSERVER_H_
