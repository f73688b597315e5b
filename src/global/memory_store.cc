#include "global/memory_store.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace sluice {

class MemoryWorld::Connection final : public GlobalStore {
  public:
    Connection(std::shared_ptr<MemoryWorld> world, std::string region)
        : world_(std::move(world)), region_(std::move(region)) {}

    std::optional<StoreFailure> publish(std::span<const RegionCount> rows) override {
        if (is_over()) return gone();
        const MutexLock lock(world_->mutex_);
        const UnixTime now = world_->clock_();
        for (const RegionCount& row : rows) {
            Component& component = world_->cells_[row.cell][region_];
            if (row.count <= component.count) continue;
            component = {.count = row.count, .updated_at = std::max(component.updated_at, now)};
        }
        return std::nullopt;
    }

    std::uint64_t connections() const override {
        const MutexLock lock(world_->mutex_);
        return world_->connections_;
    }

    StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) override {
        if (is_over()) return gone();
        ImportEnd end;
        const UnixTime now = world_->clock_();
        // A visitor may call the store again.
        for (const auto& [name, components] : world_->held()) {
            if (is_dead(name.sequence, name.duration, query.living_at)) continue;
            ImportedCell cell{.cell = name, .foreign = 0, .own = 0};
            UnixTime newest = UnixTime::min();
            for (const auto& [region, component] : components) {
                newest = std::max(newest, component.updated_at);
                Count& sum = region == region_ ? cell.own : cell.foreign;
                sum = saturating_add(sum, component.count);
            }
            if (query.changed_since && newest < *query.changed_since) continue;
            newest = std::min(newest, now);
            end.newest = std::max(end.newest.value_or(newest), newest);
            visit(cell);
        }
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

    StoreResult<bool> claim(const std::string& work,
                            const std::string& holder,
                            std::chrono::milliseconds time) override {
        if (is_over()) return gone();
        const UnixTime now = world_->clock_();
        const MutexLock lock(world_->mutex_);
        Lease& lease = world_->leases_[work];
        if (lease.holder != holder && now < lease.until) return false;
        lease = {.holder = holder, .until = now + time};
        return true;
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

    // Relaxed: whoever misses it is answered once more.
    void interrupt() override { is_over_.store(true, std::memory_order_relaxed); }

  private:
    bool is_over() const { return is_over_.load(std::memory_order_relaxed); }
    static StoreFailure gone() {
        return {.kind = StoreFailure::Kind::kLost, .why = "it was told to end"};
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
