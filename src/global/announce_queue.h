// The queue of components to announce on the bus.
#ifndef SLUICE_GLOBAL_ANNOUNCE_QUEUE_H_
#define SLUICE_GLOBAL_ANNOUNCE_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "global/store.h"
#include "window/cell.h"

namespace sluice {

// AnnounceQueue gathers components for a short time, so that one message carries many of them, and
// a cell that changes repeatedly is announced once. Memory is bounded: beyond `most_cells`, the
// cell that was added or raised longest ago is dropped and counted. Components are absolute, so the
// latest ones matter most; the global store carries what was dropped.
//
// A stepped object: it has no thread and no clock. Thread-safe.
class AnnounceQueue {
  public:
    using Time = std::chrono::steady_clock::time_point;

    static constexpr std::chrono::milliseconds kGather{20};

    struct Config {
        std::size_t most_cells = 16'384;
        std::chrono::milliseconds gather = kGather;
        // Called, without a lock, when a component was added to an empty queue: wake_at() is
        // earlier than before. Empty: nothing is called.
        std::function<void()> on_first = {};
    };

    explicit AnnounceQueue(Config config) : config_(std::move(config)) {}

    // Queues this region's component of a cell, a stored name, or raises the one that is queued.
    void add(const CellName& cell, Count count, Time now);

    // Removes and returns all components if the first one was added `gather` ago or earlier, else
    // nothing. In the order of their cells.
    std::vector<RegionCount> take(Time now);

    // When take() will return something; Time::max() while the queue is empty.
    Time wake_at() const;

    std::uint64_t dropped() const;  // components, since the start

  private:
    struct Queued {
        Count count = 0;
        std::uint64_t order = 0;  // its key in order_
    };
    using Cells = std::map<CellName, Queued>;

    void drop_oldest() SLUICE_REQUIRES(mutex_);

    const Config config_;
    mutable Mutex mutex_;
    Cells cells_ SLUICE_GUARDED_BY(mutex_);
    // The cells, those that were added or raised longest ago first.
    std::map<std::uint64_t, Cells::iterator> order_ SLUICE_GUARDED_BY(mutex_);
    std::uint64_t next_order_ SLUICE_GUARDED_BY(mutex_) = 0;
    Time due_ SLUICE_GUARDED_BY(mutex_) = Time::max();
    std::uint64_t dropped_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_ANNOUNCE_QUEUE_H_
