// The queue of keys whose counts may be worth publishing. It spares the publisher a walk of the
// table.
#ifndef SLUICE_GLOBAL_PUBLISH_QUEUE_H_
#define SLUICE_GLOBAL_PUBLISH_QUEUE_H_

#include <sluice/time.h>

#include <array>
#include <vector>

#include "base/mutex.h"
#include "counter/changed.h"
#include "counter/entry.h"
#include "global/policy.h"

namespace sluice {

// What a region has spent in the cells of a key, as one of its nodes knows it: its own settled
// counts and those of its peers.
struct RegionalCounts {
    // The current counts of `entry`.
    explicit RegionalCounts(const Entry& entry);

    // Takes the larger count of each cell, and the limit of `other` if none is known here.
    void raise(const RegionalCounts& other);

    struct Cell {
        Sequence sequence;
        Count regional;
        bool has_foreign;  // other regions are known to have spent something in it, too
    };
    std::array<Cell, kRingSize> cells;
    // Of the last request. 0: none yet, the entry was made by a read or an import.
    Count limit;
    UnixTime as_of;  // the time of the last request
};

// A key whose counts have changed, with its counts when it was offered.
struct PublishCandidate {
    Entry::Key key;
    RegionalCounts counts;
};

// PublishQueue takes an entry whenever its regional count may have grown, and keeps those that the
// policy wants published: each once until it is taken, however often it changes. So the work is
// bounded by the cells that are worth publishing.
//
// Thread-safe.
class PublishQueue {
  public:
    explicit PublishQueue(PublishPolicy policy) : policy_(policy) {}

    // Queues the entry if the policy selects it. The caller holds the entry, or an EpochPin.
    void offer(Entry& entry);

    // Queues the entry whatever the policy says.
    void offer_again(Entry& entry);

    // Removes and returns all, in the order in which they were offered.
    std::vector<PublishCandidate> take();

  private:
    bool is_wanted(const RegionalCounts& counts) const;

    const PublishPolicy policy_;
    Mutex mutex_;
    std::vector<PublishCandidate> waiting_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_PUBLISH_QUEUE_H_
