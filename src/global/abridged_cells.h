// What other regions have spent in cells whose names are too long for the store.
#ifndef SLUICE_GLOBAL_ABRIDGED_CELLS_H_
#define SLUICE_GLOBAL_ABRIDGED_CELLS_H_

#include <sluice/time.h>

#include <map>

#include "base/mutex.h"
#include "counter/entry.h"
#include "global/store.h"

namespace sluice {

// Merges what was imported of a cell into the entry of its key. False if the cell is not held
// there.
//
// The region's own component never enters the global count. It is a lower bound of what the region
// has spent, of which this node's part is known: where the rest is more than the others are known
// to have spent, they have.
bool merge_imported(const ImportedCell& cell, Entry& entry);

// From a stored name that was abridged nobody can tell the key. So what was imported under it waits
// here, and is looked up from the entry's side: when the entry is made, and whenever it changes.
//
// Thread-safe.
class AbridgedCells {
  public:
    // By max, like all that is imported.
    void hold(const ImportedCell& cell);

    // Merges what is held of the cells of `entry` into it.
    void apply(Entry& entry) const;

    // Lets go of what can't matter any more.
    void forget_dead(UnixTime now);

  private:
    mutable Mutex mutex_;
    using Cells = std::map<CellName, ImportedCell>;
    Cells cells_ SLUICE_GUARDED_BY(mutex_);  // by stored name
    // When they cease to matter: a request that makes an entry must not wait for a walk over all.
    std::multimap<UnixTime, Cells::iterator> deaths_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_ABRIDGED_CELLS_H_
