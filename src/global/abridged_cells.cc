#include "global/abridged_cells.h"

#include <algorithm>

#include "global/stored_name.h"

namespace sluice {

bool merge_imported(const ImportedCell& cell, Entry& entry) {
    const Sequence sequence = cell.cell.sequence;
    // One that is further away may look like one that is held: the ring counts its laps modulo.
    const Sequence high = entry.high();
    if (sequence < high - 2 || sequence > high + 1) return false;
    const Count own = entry.admitted(sequence).of(sequence);
    if (cell.own > own) entry.raise_others(sequence, cell.own - own);
    return entry.raise_global(sequence, cell.foreign);
}

void AbridgedCells::hold(const ImportedCell& cell) {
    const MutexLock lock(mutex_);
    const auto [it, is_new] = cells_.try_emplace(cell.cell, cell);
    if (is_new) deaths_.emplace(start_of(cell.cell.sequence + 2, cell.cell.duration), it);
    ImportedCell& held = it->second;
    held.foreign = std::max(held.foreign, cell.foreign);
    held.own = std::max(held.own, cell.own);
}

void AbridgedCells::apply(Entry& entry) const {
    const Entry::Key key = entry.key();
    if (!has_long_part(key)) return;
    // The cells of a key differ in their sequence only.
    CellName name = stored_name(name_of(key, 0));
    const Sequence high = entry.high();
    const MutexLock lock(mutex_);
    if (cells_.empty()) return;
    for (Sequence sequence = high - 2; sequence <= high + 1; ++sequence) {
        name.sequence = sequence;
        if (const auto found = cells_.find(name); found != cells_.end())
            merge_imported(found->second, entry);
    }
}

void AbridgedCells::forget_dead(UnixTime now) {
    const MutexLock lock(mutex_);
    const auto end = deaths_.upper_bound(now);
    for (auto death = deaths_.begin(); death != end; ++death)
        cells_.erase(death->second);
    deaths_.erase(deaths_.begin(), end);
}

}  // namespace sluice
