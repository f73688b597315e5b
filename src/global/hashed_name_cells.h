// Names of cells in the store, and imported counts of keys whose names are stored hashed.
#ifndef SLUICE_GLOBAL_HASHED_NAME_CELLS_H_
#define SLUICE_GLOBAL_HASHED_NAME_CELLS_H_

#include <sluice/time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "base/sha256.h"
#include "counter/entry.h"
#include "counter/table.h"
#include "global/store.h"
#include "window/cell.h"

namespace sluice {

// The name of a cell in a store, whose columns are shorter than an identifier may be. Parts that
// fit are stored as they are. A longer one is stored as its beginning, for people to recognise it
// by, and its SHA-256 in hexadecimal digits: just one byte longer than what fits, so that it can't
// be taken for a part that was stored as it is.
CellName stored_name(CellName cell);

// Whether some part of a key is longer than what fits.
bool has_long_part(const Entry::Key& key);

// Whether some part of a stored name stands for a longer one.
bool is_hashed(const CellName& stored);

// Identifies the key of a cell by its stored name: a SHA-256 of all parts but the sequence.
using StoredKeyId = Sha256;
StoredKeyId stored_key_id(const CellName& stored);

// A hashed name contains a digest, so the key can't be derived from it. HashedNameCells therefore
// keeps an index from stored names to the long keys in the table, by which the importer
// finds the entry of an imported cell. Cells of keys that are not in the table wait here until the
// key's first request creates its entry, or until they are dead.
//
// Memory is bounded: the index holds at most about twice as many keys as the table has long ones,
// since each insertion also checks two older keys and removes those that the table has dropped. At
// most `most_cells` cells wait; beyond that, those that die first are dropped.
//
// Thread-safe. It may lock a shard of the table, and is never called with one locked.
class HashedNameCells {
  public:
    // The table must outlive it.
    HashedNameCells(Table& table, std::size_t most_cells)
        : table_(table), most_cells_(most_cells) {}

    // Adds the entry's key to the index if it has a long part, and merges the cells that wait for
    // it. Returns whether other regions have spent in any of these. The caller holds an EpochPin.
    bool add(Entry& entry);

    // Returns the key in the table that is stored under the hashed name of `cell`. If there is
    // none, the cell waits for it, to be merged as it would be at `now`. The caller holds an
    // EpochPin.
    std::optional<Entry::Key> find_or_hold(const ImportedCell& cell, UnixTime now);

    // Drops cells that are dead at `now`, and a number of keys that the table has dropped.
    void forget_dead(UnixTime now);

    std::size_t keys() const;   // in the index
    std::size_t cells() const;  // that wait
    // Cells dropped before they were dead because too many waited. Any thread; relaxed: it stands
    // for itself.
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    struct Waiting {
        Count foreign = 0;
        Count own = 0;
        UnixTime now;  // the time to merge it at
        UnixTime dies;
    };
    using Cells = std::map<std::pair<StoredKeyId, Sequence>, Waiting>;

    // Takes a step; false if it was the last.
    bool forget_dead_cells(UnixTime now);
    void forget_removed_keys(std::size_t at_most) SLUICE_REQUIRES(mutex_);
    void drop_excess() SLUICE_REQUIRES(mutex_);
    Cells::iterator erase(Cells::iterator cell) SLUICE_REQUIRES(mutex_);

    Table& table_;
    const std::size_t most_cells_;
    std::atomic<std::uint64_t> dropped_{0};

    mutable Mutex mutex_;
    // The hash by which the table finds the key, by the name it is stored under.
    std::map<StoredKeyId, std::uint64_t> keys_ SLUICE_GUARDED_BY(mutex_);
    StoredKeyId last_checked_ SLUICE_GUARDED_BY(mutex_){};  // of keys_
    Cells cells_ SLUICE_GUARDED_BY(mutex_);
    std::map<std::pair<UnixTime, Cells::key_type>, Cells::iterator> deaths_
        SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_HASHED_NAME_CELLS_H_
