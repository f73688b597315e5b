// What may be worth publishing: how the publisher finds work without walking the table.
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
// counts and those of the others.
struct RegionalCounts {
    // What `entry` holds now.
    explicit RegionalCounts(const Entry& entry);

    // Of each cell, what is more here or there; the limit from there if none is known here.
    void raise(const RegionalCounts& others);

    struct Cell {
        Sequence sequence;
        Count regional;
        bool has_foreign;  // other regions are known to have spent something in it, too
    };
    std::array<Cell, kRingSize> cells;
    // That the last request named. 0 if none has: the entry was made by a read or an import.
    Count limit;
    UnixTime as_of;  // the time of the last request
};

// A key whose counts have changed, and what they were when it was offered.
struct Offer {
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

    // Whoever calls holds the entry, or an EpochPin.
    void offer(Entry& entry);

    // The same, whatever the policy says of what can be seen at the moment.
    void offer_again(Entry& entry);

    // All, in the order in which they came.
    std::vector<Offer> take();

  private:
    bool is_wanted(const RegionalCounts& counts) const;

    const PublishPolicy policy_;
    Mutex mutex_;
    std::vector<Offer> waiting_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_PUBLISH_QUEUE_H_
