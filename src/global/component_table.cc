#include "global/component_table.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

// Records that are compared to find a cell to drop.
constexpr int kSample = 8;

// Buckets of records that an insertion of a long key checks: more than one, so that those which the
// table of entries has dropped can't outnumber the others.
constexpr int kBucketsPerInsertion = 2;

UnixTime death_of(Sequence sequence, Duration duration) {
    return start_of(sequence + 2, duration);
}

}  // namespace

ComponentTable::ComponentTable(std::string own_region, std::size_t most_cells, IsHeld is_held)
    : own_region_(std::move(own_region)),
      most_cells_per_shard_(std::max<std::size_t>(most_cells / kShards, 1)),
      is_held_(std::move(is_held)),
      regions_{KnownRegionAge{own_region_, Time{}}} {}

std::optional<ComponentTable::RegionIndex> ComponentTable::index_of(std::string_view region) {
    const MutexLock lock(regions_mutex_);
    const auto found = std::ranges::find(regions_, region, &KnownRegionAge::name);
    if (found == regions_.end() && regions_.size() == kMostRegions) return std::nullopt;
    const auto index = static_cast<RegionIndex>(found - regions_.begin());
    if (found == regions_.end()) regions_.push_back({std::string(region), Time{}});
    return index;
}

void ComponentTable::note_growth(RegionIndex region, Time at) {
    const MutexLock lock(regions_mutex_);
    regions_[region].last = std::max(regions_[region].last, at);
}

std::vector<ComponentTable::KnownRegionAge> ComponentTable::known_regions() const {
    const MutexLock lock(regions_mutex_);
    return regions_;
}

std::string ComponentTable::name_of_region(RegionIndex region) const {
    const MutexLock lock(regions_mutex_);
    return regions_[region].name;
}

ComponentTable::Component& ComponentTable::Cell::component_of(RegionIndex region) {
    const auto found = std::ranges::find(components, region, &Component::region);
    if (found != components.end()) return *found;
    return components.emplace_back(
        Component{.count = 0, .at = {}, .region = region, .source = ComponentSource::kStore});
}

ComponentSums ComponentTable::Cell::sums() const {
    ComponentSums sums;
    for (const Component& component : components) {
        Count& sum = component.region == kOwn ? sums.own : sums.foreign;
        sum = saturating_add(sum, component.count);
        if (component.region == kOwn) sums.own_at = component.at;
    }
    return sums;
}

const ComponentTable::Cell* ComponentTable::find(const Shard& shard,
                                                 const StoredKeyId& id,
                                                 Sequence sequence) {
    const auto record = shard.records.find(id);
    if (record == shard.records.end()) return nullptr;
    const auto& cells = record->second.cells;
    const auto cell = std::ranges::find(cells, sequence, &Cell::sequence);
    return cell == cells.end() ? nullptr : &*cell;
}

void ComponentTable::count_cells(Shard& shard, std::ptrdiff_t change) {
    shard.cells += static_cast<std::size_t>(change);
    cells_.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed);
}

ComponentTable::Cell* ComponentTable::find_or_make(Shard& shard,
                                                   const StoredKeyId& id,
                                                   const CellName& name) {
    if (const auto record = shard.records.find(id); record != shard.records.end()) {
        auto& cells = record->second.cells;
        const auto cell = std::ranges::find(cells, name.sequence, &Cell::sequence);
        if (cell != cells.end()) return &*cell;
    }
    if (shard.cells >= most_cells_per_shard_) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        if (!make_room(shard, death_of(name.sequence, name.duration))) return nullptr;
    }
    Record& record = shard.records[id];
    record.duration = name.duration;
    count_cells(shard, 1);
    return &record.cells.emplace_back(
        Cell{.sequence = name.sequence, .components = {}, .name = {}});
}

// Drops the cell that dies first of a sample, if it dies before `dies`. The sample begins where the
// hash table's order has a record of some bucket; each drop changes what comes first there.
bool ComponentTable::make_room(Shard& shard, UnixTime dies) {
    Records& records = shard.records;
    const std::size_t buckets = records.bucket_count();
    std::size_t bucket = dropped() * 0x9E37'79B9U % buckets;
    Records::value_type* victim = nullptr;
    std::size_t place = 0;
    int seen = 0;
    for (std::size_t i = 0; i < buckets && seen < kSample; ++i, bucket = (bucket + 1) % buckets) {
        for (auto it = records.begin(bucket); it != records.end(bucket); ++it) {
            const Record& record = it->second;
            for (std::size_t j = 0; j < record.cells.size(); ++j) {
                ++seen;
                const UnixTime death = death_of(record.cells[j].sequence, record.duration);
                if (death >= dies) continue;
                dies = death;
                victim = &*it;
                place = j;
            }
        }
    }
    if (victim == nullptr) return false;
    auto& [id, record] = *victim;
    record.cells.erase(record.cells.begin() + static_cast<std::ptrdiff_t>(place));
    count_cells(shard, -1);
    if (record.cells.empty() && !record.table_hash) records.erase(StoredKeyId{id});
    return true;
}

std::optional<ComponentSums> ComponentTable::merge(const StoredKeyId& id,
                                                   const CellName& cell,
                                                   const Update& update) {
    const auto region = index_of(update.region);
    if (!region) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return std::nullopt;
    }
    Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    Cell* const held = find_or_make(shard, id, cell);
    if (held == nullptr) return std::nullopt;
    Component& component = held->component_of(*region);
    if (update.count > component.count) {
        component = {.count = std::min(update.count, kMaxCount),
                     .at = update.at,
                     .region = *region,
                     .source = update.source};
        note_growth(*region, update.at);
    }
    return held->sums();
}

ComponentSums ComponentTable::sums(const StoredKeyId& id, Sequence sequence) const {
    const Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    const Cell* const cell = find(shard, id, sequence);
    return cell == nullptr ? ComponentSums{} : cell->sums();
}

std::vector<ComponentTable::CellSums> ComponentTable::cells_of(const StoredKeyId& id) const {
    const Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    std::vector<CellSums> all;
    const auto record = shard.records.find(id);
    if (record == shard.records.end()) return all;
    for (const Cell& cell : record->second.cells)
        all.push_back({.sequence = cell.sequence, .sums = cell.sums()});
    return all;
}

void ComponentTable::note_announced(const StoredKeyId& id, const CellName& cell, Count count) {
    Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    Cell* const held = find_or_make(shard, id, cell);
    if (held == nullptr) return;
    held->announced = std::max(held->announced, count);
    if (held->name == nullptr) held->name = std::make_unique<const CellName>(cell);
}

Count ComponentTable::announced(const StoredKeyId& id, Sequence sequence) const {
    const Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    const Cell* const cell = find(shard, id, sequence);
    return cell == nullptr ? 0 : cell->announced;
}

std::vector<RegionCount> ComponentTable::all_announced() const {
    std::vector<RegionCount> all;
    for (const Shard& shard : shards_) {
        const MutexLock lock(shard.mutex);
        for (const auto& [id, record] : shard.records)
            for (const Cell& cell : record.cells)
                if (cell.name != nullptr)
                    all.push_back({.cell = *cell.name, .count = cell.announced});
    }
    return all;
}

std::vector<ComponentTable::Shown> ComponentTable::list(const StoredKeyId& id,
                                                        Sequence sequence,
                                                        Time now) const {
    std::vector<Shown> all;
    {
        const Shard& shard = shard_of(id);
        const MutexLock lock(shard.mutex);
        const Cell* const cell = find(shard, id, sequence);
        if (cell == nullptr) return all;
        for (const Component& component : cell->components)
            all.push_back({.region = name_of_region(component.region),
                           .count = component.count,
                           .source = component.source,
                           .age = std::chrono::duration_cast<std::chrono::milliseconds>(
                               now - std::min(now, component.at))});
    }
    std::ranges::sort(all, {}, &Shown::region);
    return all;
}

void ComponentTable::add_long_key(const StoredKeyId& id, std::uint64_t table_hash) {
    Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    Record& record = shard.records[id];
    const bool is_new = !record.table_hash;
    record.table_hash = table_hash;
    if (!is_new) return;
    long_keys_.fetch_add(1, std::memory_order_relaxed);
    check_long_keys(shard);
}

void ComponentTable::check_long_keys(Shard& shard) {
    Records& records = shard.records;
    for (int i = 0; i < kBucketsPerInsertion; ++i) {
        shard.hand = (shard.hand + 1) % records.bucket_count();
        std::vector<StoredKeyId> unused;
        for (auto it = records.begin(shard.hand); it != records.end(shard.hand); ++it)
            if (is_unused(it->first, it->second)) unused.push_back(it->first);
        for (const StoredKeyId& id : unused)
            records.erase(id);
    }
}

bool ComponentTable::is_unused(const StoredKeyId& id, Record& record) {
    if (record.table_hash && !is_held_(id, *record.table_hash)) {
        record.table_hash.reset();
        long_keys_.fetch_sub(1, std::memory_order_relaxed);
    }
    return record.cells.empty() && !record.table_hash;
}

std::optional<std::uint64_t> ComponentTable::hash_of_long_key(const StoredKeyId& id) const {
    const Shard& shard = shard_of(id);
    const MutexLock lock(shard.mutex);
    const auto record = shard.records.find(id);
    return record == shard.records.end() ? std::nullopt : record->second.table_hash;
}

void ComponentTable::forget_dead(UnixTime now) {
    for (Shard& shard : shards_) {
        const MutexLock lock(shard.mutex);
        for (auto it = shard.records.begin(); it != shard.records.end();) {
            auto& [id, record] = *it;
            const auto is_past = [&now, duration = record.duration](const Cell& cell) {
                return is_dead(cell.sequence, duration, now);
            };
            count_cells(shard, -static_cast<std::ptrdiff_t>(std::erase_if(record.cells, is_past)));
            it = is_unused(id, record) ? shard.records.erase(it) : std::next(it);
        }
    }
}

}  // namespace sluice
