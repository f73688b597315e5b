// Publisher: splitting queued rows into chunks, and handling their results.
#include <algorithm>
#include <utility>

#include "global/publisher.h"

namespace sluice {
namespace {

// How often a chunk whose rows are locked is halved: down to a single row.
constexpr int kMostHalvings = 10;

}  // namespace

void Publisher::fill_chunk(std::optional<UnixTime> wall) {
    while (chunk_.empty() && !(waiting_.empty() && refused_.empty())) {
        chunk_cells_ = next_group();
        const auto is_given_up = [&](Cells::iterator cell) {
            return wall && give_up_if_useless(cell, *wall);
        };
        std::erase_if(chunk_cells_, is_given_up);
        chunk_.reserve(chunk_cells_.size());
        for (const Cells::iterator cell : chunk_cells_)
            chunk_.push_back({.cell = cell->first, .count = cell->second.wanted});
    }
}

// Order: cells that have grown and were not tried yet, then refused groups, then cells whose chunks
// failed and cells that are only repeated.
Publisher::Group Publisher::next_group() {
    Group group;
    const bool can_wait = waiting_.empty() || waiting_.back()->second.failures != 0 ||
                          waiting_.back()->second.is_repeat();
    if (can_wait && !refused_.empty()) {
        group = std::move(refused_.back());
        refused_.pop_back();
        return group;
    }
    const int failures = waiting_.back()->second.failures;
    const std::size_t most = std::max<std::size_t>(kChunkRows >> std::max(failures - 1, 0), 1);
    while (!waiting_.empty() && group.size() < most &&
           waiting_.back()->second.failures == failures) {
        group.push_back(waiting_.back());
        waiting_.pop_back();
    }
    std::ranges::sort(
        group, {}, [](Cells::iterator cell) -> const CellName& { return cell->first; });
    return group;
}

void Publisher::acknowledge_chunk(Time now) {
    needs_round_trip_ = false;
    if (chunk_.empty()) return;
    rows_.fetch_add(chunk_.size(), std::memory_order_relaxed);
    chunks_.fetch_add(1, std::memory_order_relaxed);
    has_accepted_ = true;
    for (std::size_t i = 0; i < chunk_.size(); ++i) {
        Cell& cell = chunk_cells_[i]->second;
        cell.last_pushed = std::max(cell.last_pushed, chunk_[i].count);
        components_.merge(cell.id,
                          chunk_[i].cell,
                          {.region = components_.own_region(),
                           .count = chunk_[i].count,
                           .source = ComponentSource::kStore,
                           .at = now});
        cell.connection = connection_;
        cell.is_waiting = false;
        cell.failures = 0;
    }
    drop_chunk();
}

// Busy: one row may be locked, so these rows come last, in smaller chunks. Lost: says nothing about
// the rows, so only rows that are as urgent come before them.
void Publisher::postpone_chunk(StoreFailure::Kind kind) {
    const int step = kind == StoreFailure::Kind::kBusy ? 1 : 0;
    for (const Cells::iterator cell : chunk_cells_) {
        int& failures = cell->second.failures;
        failures = std::clamp(failures + step, 1, kMostHalvings + 1);
    }
    const auto is_repeat = [](Cells::iterator cell) { return cell->second.is_repeat(); };
    const bool is_urgent = step == 0 && !std::ranges::all_of(chunk_cells_, is_repeat);
    const auto place = is_urgent ? std::ranges::find_if_not(waiting_, is_repeat) : waiting_.begin();
    waiting_.insert(place, chunk_cells_.rbegin(), chunk_cells_.rend());
    drop_chunk();
}

void Publisher::split_chunk(const StoreFailure& failure) {
    if (chunk_cells_.size() == 1) {
        auto& [name, cell] = *chunk_cells_.front();
        cell.refused = cell.wanted;
        cell.wanted = cell.last_pushed;
        cell.is_waiting = false;
        refused_rows_.fetch_add(1, std::memory_order_relaxed);
        refusal_ = Refusal{.cell = name, .why = failure.why};
    } else {
        const auto half =
            chunk_cells_.begin() + static_cast<std::ptrdiff_t>(chunk_cells_.size() / 2);
        refused_.emplace_back(half, chunk_cells_.end());
        refused_.emplace_back(chunk_cells_.begin(), half);
    }
    drop_chunk();
}

void Publisher::drop_chunk() {
    chunk_.clear();
    chunk_cells_.clear();
}

}  // namespace sluice
