#include "global/memory_store.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace sluice {

class MemoryWorld::Connection final : public GlobalStore {
  public:
    Connection(std::shared_ptr<MemoryWorld> world, std::string region)
        : world_(std::move(world)), region_(std::move(region)) {}

    StoreResult<PublishEnd> publish(std::span<const RegionCount> rows,
                                    const Visit& visit) override {
        if (is_over()) return gone();
        {
            const MutexLock lock(world_->mutex_);
            const UnixTime now = world_->clock_();
            if (rows.empty()) world_->seen_[region_] = std::max(world_->seen_[region_], now);
            for (const RegionCount& row : rows) {
                Component& component = world_->cells_[row.cell][region_];
                if (row.count > component.count)
                    component = {.count = row.count,
                                 .updated_at = std::max(component.updated_at, now)};
            }
        }
        return read(rows, visit);
    }

    StoreResult<PublishEnd> read(std::span<const RegionCount> rows, const Visit& visit) override {
        if (is_over()) return gone();
        std::vector<RegionRow> found;
        PublishEnd end;
        {
            const MutexLock lock(world_->mutex_);
            const UnixTime since = world_->clock_() - kRegionMemory;
            end.regions = static_cast<std::size_t>(std::ranges::count_if(
                world_->seen_, [&](const auto& each) { return each.second > since; }));
            for (const RegionCount& row : rows) {
                const auto cell = world_->cells_.find(row.cell);
                if (cell == world_->cells_.end()) continue;
                for (const auto& [region, held] : cell->second)
                    found.push_back({.cell = row.cell, .region = region, .count = held.count});
            }
        }
        // A visitor may call the store again.
        for (const RegionRow& row : found)
            visit(row);
        return end;
    }

    std::uint64_t connections() const override {
        const MutexLock lock(world_->mutex_);
        return world_->connections_;
    }

    StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) override {
        if (is_over()) return gone();
        ImportEnd end;
        std::vector<RegionRow> page;
        {
            const MutexLock lock(world_->mutex_);
            end.last_stamp = world_->last_stamp();
            if (end.last_stamp) end.newest = std::min(*end.last_stamp, world_->clock_());
            end.rest =
                query.changed_since ? world_->rest_of_changes(query) : world_->rest_of_cells(query);
            for (auto it = world_->first_of(query); it != world_->cells_.end(); ++it) {
                const auto& [name, components] = *it;
                if (end.rest && end.rest->after && name > *end.rest->after) break;
                if (is_dead(name.sequence, name.duration, query.living_at)) continue;
                for (const auto& [region, component] : components)
                    if (is_wanted(component, query, end.rest))
                        page.push_back({.cell = name, .region = region, .count = component.count});
            }
        }
        // A visitor may call the store again.
        for (const RegionRow& row : page)
            visit(row);
        return end;
    }

    StoreResult<std::size_t> delete_expired(std::chrono::milliseconds min_age,
                                            std::size_t at_most) override {
        if (is_over()) return gone();
        const UnixTime before = world_->clock_() - min_age;
        const MutexLock lock(world_->mutex_);
        std::size_t deleted = 0;
        for (auto it = world_->cells_.begin(); it != world_->cells_.end();) {
            auto& [name, components] = *it;
            const bool has_expired = start_of(name.sequence + 2, name.duration) < before;
            while (has_expired && !components.empty() && deleted < at_most) {
                components.erase(components.begin());
                ++deleted;
            }
            it = components.empty() ? world_->cells_.erase(it) : std::next(it);
        }
        return deleted;
    }

    StoreResult<std::vector<GlobalListing>> list(std::span<const CellName> cells) override {
        if (is_over()) return gone();
        const UnixTime now = world_->clock_();
        const MutexLock lock(world_->mutex_);
        std::vector<GlobalListing> listings;
        for (const CellName& name : cells) {
            GlobalListing& listing = listings.emplace_back();
            const auto found = world_->cells_.find(name);
            if (found == world_->cells_.end()) continue;
            for (const auto& [region, component] : found->second)
                listing.components.push_back(
                    {region, component.count, std::max(now - component.updated_at, Duration{0})});
        }
        return listings;
    }

    // Relaxed: a call that misses it is answered once more.
    void interrupt() override { is_over_.store(true, std::memory_order_relaxed); }

  private:
    // Whether it changed in the time that the page covers; true of a full import.
    static bool is_wanted(const Component& component,
                          const ImportQuery& query,
                          const std::optional<ImportQuery>& rest) {
        if (!query.changed_since) return true;
        return component.updated_at >= *query.changed_since &&
               (!rest || component.updated_at < *rest->changed_since);
    }

    bool is_over() const { return is_over_.load(std::memory_order_relaxed); }
    static StoreFailure gone() {
        return {.kind = StoreFailure::Kind::kLost, .why = "the call was interrupted"};
    }

    const std::shared_ptr<MemoryWorld> world_;
    const std::string region_;
    std::atomic<bool> is_over_{false};
};

std::shared_ptr<MemoryWorld> MemoryWorld::create(std::function<UnixTime()> clock) {
    return std::shared_ptr<MemoryWorld>(new MemoryWorld(std::move(clock)));
}

std::shared_ptr<MemoryWorld> MemoryWorld::named(const std::string& name) {
    static Mutex mutex;
    static std::map<std::string, std::weak_ptr<MemoryWorld>> worlds;
    const MutexLock lock(mutex);
    std::erase_if(worlds, [](const auto& world) { return world.second.expired(); });
    auto world = worlds[name].lock();
    if (world == nullptr) worlds[name] = world = create(exact_wall_time);
    return world;
}

std::unique_ptr<GlobalStore> MemoryWorld::join(const std::string& region) {
    return std::make_unique<Connection>(shared_from_this(), region);
}

std::optional<UnixTime> MemoryWorld::last_stamp() const {
    std::optional<UnixTime> last;
    for (const auto& [name, components] : cells_)
        for (const auto& [region, component] : components)
            last = std::max(last.value_or(component.updated_at), component.updated_at);
    return last;
}

MemoryWorld::Cells::const_iterator MemoryWorld::first_of(const ImportQuery& query) const {
    return query.after ? cells_.upper_bound(*query.after) : cells_.begin();
}

std::optional<ImportQuery> MemoryWorld::rest_of_cells(ImportQuery query) const {
    std::size_t rows = 0;
    for (auto it = first_of(query); it != cells_.end(); ++it) {
        rows += it->second.size();
        if (rows < query.page_rows) continue;
        query.after = it->first;
        return query;
    }
    return std::nullopt;
}

std::optional<ImportQuery> MemoryWorld::rest_of_changes(ImportQuery query) const {
    std::vector<UnixTime> changes;
    for (const auto& [name, components] : cells_)
        for (const auto& [region, component] : components)
            if (component.updated_at >= *query.changed_since)
                changes.push_back(component.updated_at);
    if (changes.size() < query.page_rows) return std::nullopt;
    const std::size_t last = std::max<std::size_t>(query.page_rows, 1) - 1;
    const auto end = changes.begin() + static_cast<std::ptrdiff_t>(last);
    std::ranges::nth_element(changes, end);
    query.changed_since = *end + std::chrono::milliseconds{1};
    return query;
}

MemoryWorld::Cells MemoryWorld::held() const {
    const MutexLock lock(mutex_);
    return cells_;
}

void MemoryWorld::restore(Cells cells) {
    const MutexLock lock(mutex_);
    cells_ = std::move(cells);
    ++connections_;
}

}  // namespace sluice
