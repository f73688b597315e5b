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

void StoreServer::publish(std::uint32_t region, std::span<const RegionCount> published) {
    const UnixTime now = clock();
    forget_dead(now);
    for (const RegionCount& row : published) {
        merge(cells_, region, row, now);
        if (lag == Moment{0}) merge(replica_, region, row, now);
        bytes += row.cell.identifier.size() + row.cell.workspace.size() +
                 row.cell.name_space.size() + 40;
    }
    rows += published.size();
    if (lag == Moment{0}) return;
    std::vector<RegionCount> late(published.begin(), published.end());
    scheduler_.after(lag, [this, region, now, late = std::move(late)] {
        for (const RegionCount& row : late)
            merge(replica_, region, row, now);
    });
}

StoreServer::Import StoreServer::import(std::uint32_t region, const ImportQuery& query) {
    Import result;
    ImportEnd& end = result.end;
    const UnixTime now = clock();
    const Place after = query.after ? place_of(*query.after) : Place{};
    std::size_t read = 0;
    for (const auto& [place, cell] : replica_) {
        ImportedCell imported{.cell = cell.name, .foreign = 0, .own = 0};
        UnixTime newest = UnixTime::min();
        for (std::uint32_t i = 0; i < regions_; ++i) {
            newest = std::max(newest, cell.components[i].updated_at);
            Count& sum = i == region ? imported.own : imported.foreign;
            sum += cell.components[i].count;
        }
        end.last_stamp = std::max(end.last_stamp.value_or(UnixTime::min()), newest);
        end.newest = std::min(*end.last_stamp, now);
        if (end.rest || (query.after && place <= after)) continue;
        if (++read == query.page_rows && !query.changed_since) {
            end.rest = query;
            end.rest->after = cell.name;
        }
        if (is_dead(cell.name.sequence, cell.name.duration, query.living_at)) continue;
        if (query.changed_since && newest < *query.changed_since) continue;
        bytes += cell.name.identifier.size() + 56;
        result.cells.push_back(std::move(imported));
    }
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
