// Observes a node: ends the seconds of its activity, and samples its state.
#ifndef SLUICE_INSIGHT_OBSERVER_H_
#define SLUICE_INSIGHT_OBSERVER_H_

#include <sluice/time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
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
// kCollected later the observer merges it and samples the node's state. Instants that it shows are
// moved by whole seconds to the wall clock's.
//
// While the counts of the region are requested, the node leaves its report and reads those of the
// others every second; otherwise it leaves one every kIdleReports seconds and reads none.
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
        // Leaves this node's report for the other nodes of the region, and reads theirs unless
        // `notes` is empty: see Limiter::leave_note(). Called by any thread. Empty: there are none.
        using Notes = std::function<void(std::optional<std::vector<NodeNote>>)>;
        std::function<void(std::string report, Notes notes)> exchange = {};
        std::function<UnixTime()> read_wall_clock = exact_wall_time;
        // Called after each second, on the observer's thread.
        std::function<void()> on_second = [] {};
        // Called when a part of a second was skipped, and none of the one before.
        std::function<void(std::string_view why)> on_failure = [](std::string_view) {};
        // Called when one of these callbacks has thrown.
        OnThreadFailure on_thread_failure = {};
    };
    explicit Observer(Options options);
    ~Observer() { stop(); }
    Observer(const Observer&) = delete;
    Observer& operator=(const Observer&) = delete;

    // Starts its thread.
    void start();
    // Ends it, and calls every `done` that read_reports() keeps. Afterwards no callback is called
    // by its thread or by one of `exchange`. Not for two threads at a time, nor from within a
    // callback.
    void stop();
    // What the thread does every second. An exception, most likely std::bad_alloc, skips a part of
    // that; decisions are counted, and read_reports() ends, also where the status can't be read.
    void end_second();

    Activity& activity() { return activity_; }

    // As shown: within a second of the wall clock.
    UnixTime now() const { return shown(clock()); }
    // When the next whole second of its clock begins.
    std::chrono::steady_clock::time_point next_second() const;

    NodeStatus status() const { return options_.read_status(); }
    TrafficReport traffic(const Activity::Span& span, const IsVisible& is_visible) const;

    // Whether the reports that top_keys() and fleet() use are those of the last second or two. If
    // not, read_reports() reads them; it calls `done`, also where they can't be read or that takes
    // more than two seconds, before it returns or on another thread. After stop() it reads nothing
    // and calls `done` before it returns. `done` must not call read_reports().
    bool has_recent_reports() const;
    void read_reports(std::function<void()> done) const;
    RegionTopKeys top_keys(const TopQuery& query) const;
    Fleet fleet() const;

    // How old a report may be.
    static constexpr std::chrono::milliseconds kReportLifetime{5'000};
    // How often a report is left while none are requested, in seconds: within that lifetime, twice.
    static constexpr std::uint64_t kIdleReports = 2;

  private:
    using Clock = std::chrono::steady_clock;

    // The notes that were read last. Shared with exchanges that are underway, which may outlive the
    // observer.
    struct Region {
        // Adds `done` to `waiting`. False after stop(): it is left to the caller.
        bool await_read(std::function<void()>& done);
        void end_read(std::optional<std::vector<NodeNote>> read);
        // Calls the functions that were in `waiting` at the last call already.
        void end_long_waits();
        void stop();

        // Held while functions of `waiting` are called, so that none is once stop() has returned.
        // Locked before the other one.
        Mutex calling;
        Mutex mutex;
        bool is_stopped SLUICE_GUARDED_BY(mutex) = false;
        std::string report SLUICE_GUARDED_BY(mutex);  // the last one that was left
        Clock::time_point asked_at SLUICE_GUARDED_BY(mutex){};
        // When the read in progress began, and the functions to call when it ends.
        std::optional<Clock::time_point> reading_since SLUICE_GUARDED_BY(mutex);
        std::vector<std::function<void()>> waiting SLUICE_GUARDED_BY(mutex);
        bool is_long_wait SLUICE_GUARDED_BY(mutex) = false;
        Clock::time_point tried_at SLUICE_GUARDED_BY(mutex){};  // when the last read ended
        std::vector<NodeNote> notes SLUICE_GUARDED_BY(mutex);
        bool is_new SLUICE_GUARDED_BY(mutex) = false;  // not decoded yet
        std::optional<Clock::time_point> read_at SLUICE_GUARDED_BY(mutex);
    };

    void publish_second(const NodeStatus& status);
    UnixTime clock() const;
    UnixTime shown(UnixTime time) const;
    void show(std::vector<TopKey>& keys) const;
    void follow_wall_clock();
    void make_report(const NodeStatus& status);
    void exchange_reports(const NodeStatus& status);
    // Leaves the last report and reads those of the others. False while a read is underway.
    bool start_read() const;
    // Those of other nodes than `own` that are not too old, with their ages as of now.
    std::vector<ReceivedReport> others(std::string_view own) const;
    bool is_partial() const;

    const Options options_;
    const UnixTime started_at_;
    const Clock::time_point started_;
    Activity activity_;
    // From its clock to the wall clock. Written by the thread, read by any; relaxed, since it
    // publishes nothing.
    std::atomic<std::chrono::seconds> offset_{};
    const std::shared_ptr<Region> region_ = std::make_shared<Region>();
    // Decoded by the first thread that needs them: the one that reads the notes has other work.
    mutable Mutex reports_mutex_;
    mutable std::vector<ReceivedReport> reports_ SLUICE_GUARDED_BY(reports_mutex_);
    // A note of another node is no report of this version.
    mutable bool has_unreadable_ SLUICE_GUARDED_BY(reports_mutex_) = false;
    mutable Clock::time_point reports_read_at_ SLUICE_GUARDED_BY(reports_mutex_){};
    // Of the thread.
    LatencyCounts latency_{};  // as of the last second
    NodeReport report_;        // the last one
    std::uint64_t seconds_ = 0;
    std::uint64_t longer_windows_at_ = 0;  // the second in which the report got them; 0: not yet
    bool has_failed_ = false;              // in the last second
    TurnThread thread_;
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_OBSERVER_H_
