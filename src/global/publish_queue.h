// The queue of keys whose counts may be worth publishing. It spares the publisher a walk of the
// table.
#ifndef SLUICE_GLOBAL_PUBLISH_QUEUE_H_
#define SLUICE_GLOBAL_PUBLISH_QUEUE_H_

#include <sluice/time.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "counter/changed.h"
#include "counter/entry.h"
#include "global/component_table.h"
#include "global/policy.h"

namespace sluice {

// What a region has spent in the cells of a key, as one of its nodes knows it: its own settled
// counts and those of its peers; and what is known of other regions. Only the former are published
// (invariant 12).
struct RegionalCounts {
    // The current counts of `entry`.
    explicit RegionalCounts(const Entry& entry);

    // Takes the larger counts of each cell, and the limit of `other` if none is known here.
    void raise(const RegionalCounts& other);

    struct Cell {
        Sequence sequence;
        Count regional;
        Count global;
    };
    // The use of a cell, for a policy, with nothing published yet.
    CellUse use_of(const Cell& cell, std::size_t regions) const;

    std::array<Cell, kRingSize> cells;
    Duration duration;
    // Of the last request. 0: none yet, the entry was made by a read.
    Count limit;
    UnixTime as_of;  // the time of the last request

  private:
    Cell cell_at(Sequence sequence) const;
    Count known() const;
};

// A key whose counts have changed, with its counts when it was offered.
struct PublishCandidate {
    Entry::Key key;
    RegionalCounts counts;
};

// PublishQueue takes an entry whenever its regional count may have grown, and keeps those that the
// policy wants published: each once until it is taken, however often it changes. So the work is
// bounded by the cells that are worth publishing. What the policy wants published at once it
// announces on the bus; without a bus, or while that is silent, it has the publisher called.
//
// Thread-safe.
class PublishQueue {
  public:
    using Time = ComponentTable::Time;
    // How many regions share the limits. Written by the publisher's thread, read by any; relaxed:
    // an old number changes when something is published, not what.
    using Regions = std::atomic<std::size_t>;

    struct Config {
        PublishPolicy policy;
        std::function<Time()> clock;
        // Called, on any thread, when a count is to be published at once, unless it was called
        // since the last take().
        std::function<void()> urged;
        // Takes an announcement, on any thread; empty without a bus. Names are stored names.
        std::function<void(const CellName&, Count)> announce;
        // Whether announcements reach other regions.
        std::function<bool(Time)> is_bus_live;
    };
    // `components` knows what was published and announced. Both must outlive it.
    PublishQueue(Config config, ComponentTable& components, const Regions& regions)
        : config_(std::move(config)), components_(components), regions_(regions) {}

    // Queues the entry if the policy selects it. The caller holds the entry, or an EpochPin.
    void offer(Entry& entry);

    // Queues the entry whatever the policy says.
    void offer_again(Entry& entry);

    // Whether a count is to be published at once.
    bool is_urged() const { return is_urged_.load(std::memory_order_relaxed); }

    Time now() const { return config_.clock(); }

    // Whether other regions learn of counts before they are published.
    bool is_bus_live() const { return config_.announce && config_.is_bus_live(now()); }

    // Announces a component, if there is a bus.
    void announce(const CellName& stored, Count count) const {
        if (config_.announce) config_.announce(stored, count);
    }

    // Removes and returns all, in the order in which they were offered.
    std::vector<PublishCandidate> take();

  private:
    PublishTime earliest(const RegionalCounts& counts) const;
    void publish_at_once(const Entry::Key& key, const RegionalCounts& counts);

    const Config config_;
    ComponentTable& components_;
    const Regions& regions_;
    // Set by offer(), cleared by take(). Relaxed: the queue has a lock of its own.
    std::atomic<bool> is_urged_{false};
    Mutex mutex_;
    std::vector<PublishCandidate> waiting_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_PUBLISH_QUEUE_H_
