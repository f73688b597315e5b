#include "support/store_calls.h"

#include <utility>

#include <gtest/gtest.h>

namespace sluice::global_test {
namespace {

// The value of a call that worked.
template <class T>
T expect_done(StoreResult<T> result) {
    if (const auto* const failure = std::get_if<StoreFailure>(&result)) {
        ADD_FAILURE() << failure->why;
        return {};
    }
    return std::get<0>(std::move(result));
}

GlobalStore::Visit visit_into(ReadBack& found) {
    return [&found](const RegionRow& row) {
        ++found.visits;
        found.cells[row.cell][row.region] = row.count;
    };
}

}  // namespace

Imported import(GlobalStore& store, const ImportQuery& query) {
    Imported imported;
    const auto visit = [&](const RegionRow& row) {
        ++imported.visits;
        imported.cells[row.cell][row.region] = row.count;
    };
    std::optional<ImportQuery> page = query;
    while (page) {
        ImportEnd end = expect_done(store.import(*page, visit));
        if (imported.pages++ == 0) {
            imported.newest = end.newest;
            imported.last_stamp = end.last_stamp;
        }
        page = std::move(end.rest);
    }
    return imported;
}

CellName cell_of(std::string identifier, Sequence sequence, Duration duration) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = duration,
            .sequence = sequence};
}

UnixTime end_of(const CellName& cell) {
    return start_of(cell.sequence + 2, cell.duration);
}

Components Imported::of(const CellName& cell) const {
    const auto found = cells.find(cell);
    if (found != cells.end()) return found->second;
    ADD_FAILURE() << "the cell of " << cell.identifier << " was not imported";
    return {};
}

ReadBack publish(GlobalStore& store, std::vector<RegionCount> rows) {
    ReadBack found;
    found.regions = expect_done(store.publish(rows, visit_into(found))).regions;
    return found;
}

ReadBack read(GlobalStore& store, const std::vector<CellName>& cells) {
    std::vector<RegionCount> rows;
    for (const CellName& cell : cells)
        rows.push_back({cell, 0});
    ReadBack found;
    found.regions = expect_done(store.read(rows, visit_into(found))).regions;
    return found;
}

ReadBack publish(GlobalStore& store, const CellName& cell, Count count) {
    return publish(store, std::vector<RegionCount>{{cell, count}});
}

ReadBack publish(GlobalStore& store, const std::string& identifier, Count count) {
    return publish(store, cell_of(identifier), count);
}

Imported import_all(GlobalStore& store, UnixTime living_at) {
    return import(store, {.living_at = living_at});
}

Imported import_changed(GlobalStore& store, UnixTime since, UnixTime living_at) {
    return import(store, {.living_at = living_at, .changed_since = since});
}

std::size_t delete_expired(GlobalStore& store,
                           std::chrono::milliseconds min_age,
                           std::size_t at_most) {
    return expect_done(store.delete_expired(min_age, at_most));
}

GlobalListing list(GlobalStore& store, const CellName& cell) {
    const std::vector<CellName> cells = {cell};
    auto listings = expect_done(store.list(cells));
    EXPECT_EQ(listings.size(), 1U);
    return listings.empty() ? GlobalListing{} : std::move(listings.front());
}

std::optional<StoreFailure> try_publish(GlobalStore& store, const std::vector<RegionCount>& rows) {
    auto end = store.publish(rows, [](const RegionRow&) {});
    auto* const failure = std::get_if<StoreFailure>(&end);
    return failure == nullptr ? std::nullopt : std::optional(std::move(*failure));
}

Count sum_of(const Components& components) {
    Count sum = 0;
    for (const auto& [region, count] : components)
        sum = saturating_add(sum, count);
    return sum;
}

StoreFailure failure_of(GlobalStore& store) {
    if (auto failure = try_publish(store, {{cell_of("x"), 1}})) return *std::move(failure);
    ADD_FAILURE() << "it did not fail";
    return {};
}

}  // namespace sluice::global_test
