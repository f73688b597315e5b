// The activity of a node: its top keys, and its traffic of the last hour.
#ifndef SLUICE_INSIGHT_ACTIVITY_H_
#define SLUICE_INSIGHT_ACTIVITY_H_

#include <sluice/time.h>
#include <sluice/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "counter/limit_key.h"
#include "insight/key_windows.h"
#include "insight/recorder.h"
#include "insight/traffic_history.h"

namespace sluice::insight {

// A key with its sums over a window. The true sums differ from these by at most the errors.
struct TopKey {
    std::shared_ptr<const KeyText> text;
    std::uint64_t denials = 0;
    std::uint64_t denials_error = 0;
    std::uint64_t spend = 0;
    std::uint64_t spend_error = 0;
    // Of the key's last request.
    std::int64_t limit = 0;
    std::chrono::milliseconds duration{};
    UnixTime last{};         // when that was
    UnixTime last_denied{};  // 1970: not in the window
};

enum class Ranking { kDenials, kSpend };

struct TopQuery {
    Window window = Window::kMinute;
    Ranking by = Ranking::kDenials;
    std::size_t most = 100;
    IsVisible is_visible;
};

struct TopKeys {
    std::vector<TopKey> keys;  // the heaviest first
    std::uint64_t total = 0;   // denials, or spend, of all visible keys
    // The total lacks what was counted in namespaces that are not among a node's busiest.
    bool is_total_minimum = false;
};

// A node's counts over one window.
struct WindowReport {
    std::vector<TopKey> keys;  // the most important first
    Totals totals;
    // What a key that is not listed may have at most.
    std::uint64_t unlisted_denials = 0;
    std::uint64_t unlisted_spend = 0;
};

// Merges the batches of all recorders. It holds at most kSliceKeys x kSlices keys for each window
// and kind, and an hour of traffic, in about 3 MB and at most 25 MB if all texts have full length.
//
// Thread-safe. Decisions are counted by a Recorder on each serving thread; its owner passes the
// batch to add() every second. A thread without a recorder uses count().
class Activity {
  public:
    explicit Activity(std::uint64_t seed);

    const KeyHash& hash() const { return hash_; }

    // Passes on what `recorder` has counted. Never waits for a reader.
    void collect(Recorder& recorder);

    // Counts a decision of a thread that has no recorder.
    void count(const Request& request, const Decision& decision, Recorder::Spent spent);

    // Merges what was collected since the last call into the second that ends at `now`, which has
    // this state. To be called once a second, by one thread.
    void end_second(const StateSample& state, UnixTime now);

    TopKeys top_keys(const TopQuery& query) const;

    // The visible keys with most denials, `most` of them, and as many of those with most spend; and
    // of either kind the ten of each workspace, up to `most`. The lists are interleaved.
    WindowReport report(Window window, std::size_t most, const IsVisible& is_visible) const;

    // The last complete seconds.
    struct Span {
        std::int64_t seconds = 60;
        std::int64_t step = 1;
    };
    TrafficReport traffic(const Span& span, const IsVisible& is_visible) const;

  private:
    struct Counts {
        KeyWindows::Sums denials;
        KeyWindows::Sums spend;
        Totals totals;

        TopKey of(const KeySketch::Entry& entry) const;
    };
    Counts counts(Window window) const;

    const KeyHash hash_;

    Mutex incoming_mutex_;
    std::vector<std::unique_ptr<Batch>> incoming_ SLUICE_GUARDED_BY(incoming_mutex_);
    std::vector<std::unique_ptr<Batch>> spare_ SLUICE_GUARDED_BY(incoming_mutex_);
    Recorder shared_ SLUICE_GUARDED_BY(incoming_mutex_);

    mutable Mutex mutex_;
    KeyWindows denials_ SLUICE_GUARDED_BY(mutex_);
    KeyWindows spend_ SLUICE_GUARDED_BY(mutex_);
    TrafficHistory traffic_ SLUICE_GUARDED_BY(mutex_);
    UnixTime now_ SLUICE_GUARDED_BY(mutex_){};  // the end of the last second
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_ACTIVITY_H_
