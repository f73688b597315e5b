// Observes a node: ends the seconds of its activity, and samples its state.
#ifndef SLUICE_INSIGHT_OBSERVER_H_
#define SLUICE_INSIGHT_OBSERVER_H_

#include <sluice/time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/turn_thread.h"
#include "insight/activity.h"
#include "insight/node_report.h"
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

// The nodes of the region that are known, this one first.
struct Fleet {
    UnixTime now{};
    std::vector<ReceivedReport> nodes;
    bool is_partial = false;  // as above
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
        // Leaves this node's report for the other nodes of the region, and reads theirs: see
        // Limiter::leave_note(). Called on the observer's thread.
        using Notes = std::function<void(std::optional<std::vector<NodeNote>>)>;
        std::function<void(std::string report, Notes notes)> exchange = {};
        // Called after each second, on the observer's thread.
        std::function<void()> on_second = [] {};
        // Called when a second was skipped, and the one before was not.
        std::function<void(std::string_view why)> on_failure = [](std::string_view) {};
    };
    explicit Observer(Options options);
    ~Observer() { stop(); }
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;

    // Starts its thread.
    void start();
    // Ends it. on_second() is not called afterwards.
    void stop() { thread_.stop(); }
    // What the thread does every second. An exception, most likely std::bad_alloc, skips what is left
    // of that.
    void end_second();

    Activity& activity() { return activity_; }
    const Activity& activity() const { return activity_; }

    UnixTime now() const;
    // When the next whole second of its clock begins.
    std::chrono::steady_clock::time_point next_second() const;

    NodeStatus status() const { return options_.read_status(); }
    RegionTopKeys top_keys(const TopQuery& query) const;
    Fleet fleet() const;

    // How old a report may be.
    static constexpr std::chrono::milliseconds kReportLifetime{5'000};

  private:
    using Clock = std::chrono::steady_clock;

    // The notes that were read last. Shared with exchanges that are underway, which may outlive the
    // observer.
    struct Region {
        Mutex mutex;
        std::vector<NodeNote> notes SLUICE_GUARDED_BY(mutex);
        bool is_new SLUICE_GUARDED_BY(mutex) = false;  // not decoded yet
        std::optional<Clock::time_point> read_at SLUICE_GUARDED_BY(mutex);
    };

    void observe_second();
    NodeReport make_report(const NodeStatus& status);
    void exchange_reports(const NodeStatus& status);
    // Those of other nodes than `own` that are not too old, with their ages as of now.
    std::vector<ReceivedReport> others(std::string_view own) const;
    bool is_partial() const;

    const Options options_;
    const UnixTime started_at_;
    const Clock::time_point started_;
    Activity activity_;
    const std::shared_ptr<Region> region_ = std::make_shared<Region>();
    // Decoded by the first thread that needs them: the one that reads the notes has other work.
    mutable Mutex reports_mutex_;
    mutable std::vector<ReceivedReport> reports_ SLUICE_GUARDED_BY(reports_mutex_);
    mutable Clock::time_point reports_read_at_ SLUICE_GUARDED_BY(reports_mutex_){};
    // Of the thread.
    LatencyCounts latency_{};  // as of the last second
    NodeReport report_;        // the last one
    std::uint64_t seconds_ = 0;
    bool has_failed_ = false;  // in the last second
    TurnThread thread_;
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_OBSERVER_H_
