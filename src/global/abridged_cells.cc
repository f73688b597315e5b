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
    ImportedCell& held = cells_.try_emplace(cell.cell, cell).first->second;
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
    std::erase_if(cells_, [&](const auto& held) {
        return is_dead(held.first.sequence, held.first.duration, now);
    });
}

}  // namespace sluice
