#include "sim/store_server.h"

#include <algorithm>

namespace sluice::sim {

StoreServer::Place StoreServer::place_of(const CellName& cell) {
    return {key_of(cell.identifier), cell.sequence};
}

void StoreServer::merge(Cells& cells, std::uint32_t region, const RegionCount& row, UnixTime at) {
    Cell& cell = cells[place_of(row.cell)];
    if (cell.components.empty()) {
        cell.name = row.cell;
        cell.components.resize(regions_);
    }
    Component& component = cell.components[region];
    if (row.count > component.count)
        component = {.count = row.count, .updated_at = std::max(component.updated_at, at)};
}

void StoreServer::forget_dead(UnixTime now) {
    if (scheduler_.now() < purged_ + std::chrono::seconds{10}) return;
    purged_ = scheduler_.now();
    // Two windows late: nodes with slow clocks still read them.
    const auto is_past = [&](const auto& held) {
        return is_dead(held.second.name.sequence,
                       held.second.name.duration,
                       now - 2 * held.second.name.duration);
    };
    std::erase_if(cells_, is_past);
    std::erase_if(replica_, is_past);
}

std::vector<RegionRow> StoreServer::publish(std::uint32_t region,
                                            std::span<const RegionCount> published) {
    const UnixTime now = clock();
    forget_dead(now);
    for (const RegionCount& row : published) {
        merge(cells_, region, row, now);
        if (lag == Moment{0}) merge(replica_, region, row, now);
        bytes += row.cell.identifier.size() + row.cell.workspace.size() +
                 row.cell.name_space.size() + 40;
    }
    rows += published.size();
    ++statements;
    if (lag == Moment{0}) return read(published);
    std::vector<RegionCount> late(published.begin(), published.end());
    scheduler_.after(lag, [this, region, now, late = std::move(late)] {
        for (const RegionCount& row : late)
            merge(replica_, region, row, now);
    });
    return read(published);
}

std::vector<RegionRow> StoreServer::read(std::span<const RegionCount> wanted) {
    std::vector<RegionRow> components;
    for (const RegionCount& row : wanted) {
        const auto cell = cells_.find(place_of(row.cell));
        if (cell != cells_.end()) append_rows(cell->second, UnixTime::min(), components);
    }
    return components;
}

// Components that changed at `since` or later.
void StoreServer::append_rows(const Cell& cell, UnixTime since, std::vector<RegionRow>& to) const {
    for (std::uint32_t i = 0; i < regions_; ++i) {
        const Component& component = cell.components[i];
        if (component.count != 0 && component.updated_at >= since)
            to.push_back(
                {.cell = cell.name, .region = name_of_region(i), .count = component.count});
    }
}

void StoreServer::mark_region(std::uint32_t region) {
    UnixTime& seen = seen_[region];
    seen = std::max(seen, clock());
}

std::size_t StoreServer::count_regions() const {
    const UnixTime since = clock() - kRegionMemory;
    return static_cast<std::size_t>(
        std::ranges::count_if(seen_, [&](const auto& each) { return each.second > since; }));
}

StoreServer::Import StoreServer::import(const ImportQuery& query) {
    Import result;
    ImportEnd& end = result.end;
    const UnixTime now = clock();
    const Place after = query.after ? place_of(*query.after) : Place{};
    const UnixTime since = query.changed_since.value_or(UnixTime::min());
    std::size_t read = 0;
    for (const auto& [place, cell] : replica_) {
        for (const Component& component : cell.components)
            end.last_stamp =
                std::max(end.last_stamp.value_or(UnixTime::min()), component.updated_at);
        end.newest = std::min(*end.last_stamp, now);
        if (end.rest || (query.after && place <= after)) continue;
        if (++read == query.page_rows && !query.changed_since) {
            end.rest = query;
            end.rest->after = cell.name;
        }
        if (is_dead(cell.name.sequence, cell.name.duration, query.living_at)) continue;
        append_rows(cell, since, result.rows);
    }
    for (const RegionRow& row : result.rows)
        bytes += row.cell.identifier.size() + 56;
    return result;
}

void StoreServer::clean_up(Moment ahead) {
    const UnixTime now = clock() + std::chrono::duration_cast<std::chrono::milliseconds>(ahead);
    const auto is_expired = [&](const auto& held) {
        return is_dead(held.second.name.sequence, held.second.name.duration, now);
    };
    std::erase_if(cells_, is_expired);
    std::erase_if(replica_, is_expired);
}

void StoreServer::fail_over(const Contents& earlier) {
    cells_ = earlier.cells;
    replica_ = earlier.cells;
    ++failovers;
}

bool StoreServer::holds(KeyIndex key, Sequence sequence) const {
    return cells_.contains({key, sequence});
}

Count StoreServer::component(KeyIndex key, Sequence sequence, std::uint32_t region) const {
    const auto found = cells_.find({key, sequence});
    return found == cells_.end() ? 0 : found->second.components[region].count;
}

}  // namespace sluice::sim
