#include "regional/replay.h"

#include <utility>

#include "base/check.h"

namespace sluice {

Replay::~Replay() {
    failed();
    for (Entry* entry : std::exchange(waiting_, {}))
        if (!table_.changed().give_back(*entry)) table_.dispose(*entry);
}

std::vector<CellComponent> Replay::next(UnixTime now) {
    std::vector<CellComponent> batch;
    if (!underway_.empty()) return batch;
    if (waiting_.empty()) take();
    while (!waiting_.empty() && batch.size() + kRingSize <= kBatchCells) {
        Entry& entry = *waiting_.back();
        waiting_.pop_back();
        add(entry, now, batch);
    }
    return batch;
}

void Replay::take() {
    ChangedList::Taken taken = table_.changed().take();
    for (Entry* entry : taken.retired)
        table_.dispose(*entry);
    waiting_ = std::move(taken.changed);
}

void Replay::add(Entry& entry, UnixTime now, std::vector<CellComponent>& batch) {
    Told told{.entry = &entry, .components = Components(entry), .cells = 0};
    const Entry::Key key = entry.key();
    for (const auto& [sequence, count] : told.components.all()) {
        if (count == 0 || is_dead(sequence, key.duration, now)) continue;
        batch.push_back({.cell = {.workspace = key.workspace,
                                  .name_space = key.name_space,
                                  .identifier = key.identifier,
                                  .duration = key.duration,
                                  .sequence = sequence},
                         .own = count});
        sequences_.push_back(sequence);
        ++told.cells;
    }
    if (told.cells == 0) return release(told);
    underway_.push_back(told);
}

void Replay::landed(std::span<const CellTotals> totals) {
    SLUICE_CHECK(totals.size() == sequences_.size());
    std::size_t cell = 0;
    for (const Told& told : underway_) {
        for (std::size_t i = 0; i < told.cells; ++i, ++cell) {
            const auto [total, own] = totals[cell];
            if (total > own) told.entry->raise_others(sequences_[cell], total - own);
        }
        release(told);
    }
    underway_.clear();
    sequences_.clear();
}

void Replay::failed() {
    for (const Told& told : underway_)
        if (!table_.changed().give_back(*told.entry)) table_.dispose(*told.entry);
    underway_.clear();
    sequences_.clear();
}

void Replay::release(const Told& told) {
    if (!table_.changed().release(*told.entry, told.components)) table_.dispose(*told.entry);
}

}  // namespace sluice
