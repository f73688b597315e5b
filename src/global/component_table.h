// ComponentTable: the component of each region, of the cells that are shared between regions.
#ifndef SLUICE_GLOBAL_COMPONENT_TABLE_H_
#define SLUICE_GLOBAL_COMPONENT_TABLE_H_

#include <sluice/time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "global/store.h"
#include "global/stored_name.h"
#include "window/cell.h"

namespace sluice {

// How a component reached this node.
enum class ComponentSource : std::uint8_t { kStore, kBus };

// The sums of a cell's components: of this region, and of all others.
struct ComponentSums {
    Count own = 0;
    Count foreign = 0;
    std::chrono::steady_clock::time_point own_at = {};  // when `own` grew here
};

// ComponentTable keeps the latest component of each region, merged by max, so that rows of the
// store and announcements of the bus can be merged in any order. It holds cells that some region
// has published or announced, whether this node uses their keys or not; an entry takes its counts
// from here when it is made. It also remembers which long keys the table holds: their stored names
// contain digests, from which the keys can't be derived.
//
// Memory is bounded by `most_cells`. Beyond that a new cell replaces one that ceases to matter
// sooner, of a small sample; counts that entries have taken already stay with them. Long keys are
// bounded by about twice those in the table, since each insertion checks two buckets of older ones.
//
// Thread-safe: each of 64 shards has a lock, which is held for a lookup, or while the dead cells of
// the shard are dropped.
class ComponentTable {
  public:
    // By any clock that does not go back.
    using Time = std::chrono::steady_clock::time_point;

    // Whether the table of entries holds a long key. Called with a shard locked, and so must not
    // call back.
    using IsHeld = std::function<bool(const StoredKeyId&, std::uint64_t table_hash)>;

    ComponentTable(std::string own_region, std::size_t most_cells, IsHeld is_held);
    ComponentTable(const ComponentTable&) = delete;
    ComponentTable& operator=(const ComponentTable&) = delete;

    const std::string& own_region() const { return own_region_; }

    // A component, and how it reached this node.
    struct Update {
        std::string_view region;
        Count count;
        ComponentSource source;
        Time at;
    };
    // Takes the larger count of the region's component (invariants 2 and 12). Returns the sums of
    // the cell; none if there is no place for it.
    std::optional<ComponentSums> merge(const StoredKeyId& id,
                                       const CellName& cell,
                                       const Update& update);

    // 0 for cells that are not held.
    ComponentSums sums(const StoredKeyId& id, Sequence sequence) const;
    struct CellSums {
        Sequence sequence;
        ComponentSums sums;
    };
    std::vector<CellSums> cells_of(const StoredKeyId& id) const;

    // What this node has announced of its region's component on the bus. It says nothing about what
    // was published: an announcement may be lost.
    void note_announced(const StoredKeyId& id, const CellName& cell, Count count);
    Count announced(const StoredKeyId& id, Sequence sequence) const;
    // Everything that was announced, of cells that are held: for a bus that was unavailable.
    std::vector<RegionCount> all_announced() const;

    // The components of a cell, for inspection, by the names of their regions.
    struct Shown {
        std::string region;
        Count count;
        ComponentSource source;
        std::chrono::milliseconds age;  // since the component grew here
    };
    std::vector<Shown> list(const StoredKeyId& id, Sequence sequence, Time now) const;

    // The regions that components came from, this one first, and when one of them last grew here;
    // the beginning of time for a region whose components never grew here.
    struct KnownRegionAge {
        std::string name;
        Time last;
    };
    std::vector<KnownRegionAge> known_regions() const;

    // Remembers that the table holds a long key with that hash.
    void add_long_key(const StoredKeyId& id, std::uint64_t table_hash);
    std::optional<std::uint64_t> hash_of_long_key(const StoredKeyId& id) const;

    // Drops cells that are dead at `now`, and long keys that the table of entries has dropped.
    void forget_dead(UnixTime now);

    // Any thread; relaxed: each stands for itself.
    std::size_t cells() const { return cells_.load(std::memory_order_relaxed); }
    std::size_t long_keys() const { return long_keys_.load(std::memory_order_relaxed); }
    // Whether a lookup can be spared.
    bool is_empty() const { return cells() == 0; }
    // Cells that were dropped, or not taken, before they were dead, for lack of place.
    std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    using RegionIndex = std::uint16_t;
    static constexpr RegionIndex kOwn = 0;
    static constexpr std::size_t kMostRegions = 1'024;

    struct Component {
        Count count;
        Time at;
        RegionIndex region;
        ComponentSource source;
    };
    struct Cell {
        Sequence sequence;
        std::vector<Component> components;
        Count announced = 0;
        std::unique_ptr<const CellName> name;  // of an announced cell

        Component& component_of(RegionIndex region);
        ComponentSums sums() const;
    };
    struct Record {
        Duration duration{0};
        std::optional<std::uint64_t> table_hash;  // of a long key that the table held
        std::vector<Cell> cells;
    };
    struct IdHash {
        std::size_t operator()(const StoredKeyId& id) const { return id.hash(); }
    };
    using Records = std::unordered_map<StoredKeyId, Record, IdHash>;
    struct Shard {
        mutable Mutex mutex;
        Records records SLUICE_GUARDED_BY(mutex);
        std::size_t cells SLUICE_GUARDED_BY(mutex) = 0;
        std::size_t hand SLUICE_GUARDED_BY(mutex) = 0;  // the bucket that was checked last
    };
    static constexpr std::size_t kShards = 64;

    Shard& shard_of(const StoredKeyId& id) const { return shards_[id.bytes.back() % kShards]; }
    static const Cell* find(const Shard& shard, const StoredKeyId& id, Sequence sequence)
        SLUICE_REQUIRES(shard.mutex);
    Cell* find_or_make(Shard& shard, const StoredKeyId& id, const CellName& name)
        SLUICE_REQUIRES(shard.mutex);
    bool make_room(Shard& shard, UnixTime dies) SLUICE_REQUIRES(shard.mutex);
    void count_cells(Shard& shard, std::ptrdiff_t change) SLUICE_REQUIRES(shard.mutex);
    void check_long_keys(Shard& shard) SLUICE_REQUIRES(shard.mutex);
    // Forgets the hash of a long key that is not held. Returns whether the record is of no use.
    bool is_unused(const StoredKeyId& id, Record& record);
    // None if there are too many regions.
    std::optional<RegionIndex> index_of(std::string_view region);
    std::string name_of_region(RegionIndex region) const;
    void note_growth(RegionIndex region, Time at);

    const std::string own_region_;
    const std::size_t most_cells_per_shard_;
    const IsHeld is_held_;
    mutable std::array<Shard, kShards> shards_;
    // Relaxed: see cells().
    std::atomic<std::size_t> cells_{0};
    std::atomic<std::size_t> long_keys_{0};
    std::atomic<std::uint64_t> dropped_{0};

    mutable Mutex regions_mutex_;
    std::vector<KnownRegionAge> regions_ SLUICE_GUARDED_BY(regions_mutex_);  // by index; ours first
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_COMPONENT_TABLE_H_
