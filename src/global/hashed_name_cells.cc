#include "global/hashed_name_cells.h"

#include <algorithm>
#include <limits>
#include <string>

#include "counter/epoch.h"

namespace sluice {
namespace {

// Keys checked per insertion. More than one, so that the index can't outgrow the table.
constexpr std::size_t kChecksPerInsertion = 2;
// Cells or keys looked at while the mutex is held.
constexpr std::size_t kStep = 128;
// Keys checked per import.
constexpr std::size_t kChecksPerImport = 80 * kStep;

void hash_excess(std::string& part, std::size_t fits) {
    if (part.size() <= fits) return;
    const std::string digits = to_hex(sha256_of(part));
    part.resize(fits + 1 - digits.size());
    part += digits;
}

StoredKeyId id_of(const Entry::Key& key) {
    return stored_key_id(stored_name(name_of(key, 0)));
}

}  // namespace

CellName stored_name(CellName cell) {
    hash_excess(cell.workspace, kStoredWorkspaceBytes);
    hash_excess(cell.name_space, kStoredNamespaceBytes);
    hash_excess(cell.identifier, kStoredIdentifierBytes);
    return cell;
}

bool has_long_part(const Entry::Key& key) {
    return key.workspace.size() > kStoredWorkspaceBytes ||
           key.name_space.size() > kStoredNamespaceBytes ||
           key.identifier.size() > kStoredIdentifierBytes;
}

bool is_hashed(const CellName& stored) {
    return stored.workspace.size() > kStoredWorkspaceBytes ||
           stored.name_space.size() > kStoredNamespaceBytes ||
           stored.identifier.size() > kStoredIdentifierBytes;
}

StoredKeyId stored_key_id(const CellName& stored) {
    std::string text = std::to_string(stored.duration.count());
    for (const std::string* part : {&stored.workspace, &stored.name_space, &stored.identifier})
        text += ',' + std::to_string(part->size()) + ':' + *part;
    return sha256_of(text);
}

bool HashedNameCells::add(Entry& entry) {
    const Entry::Key key = entry.key();
    if (!has_long_part(key)) return false;
    const StoredKeyId id = id_of(key);
    bool has_foreign = false;
    const MutexLock lock(mutex_);
    if (keys_.try_emplace(id, entry.hash()).second) forget_removed_keys(kChecksPerInsertion);
    auto cell = cells_.lower_bound({id, std::numeric_limits<Sequence>::min()});
    while (cell != cells_.end() && cell->first.first == id) {
        const Waiting& waiting = cell->second;
        const bool is_outgrown = entry.outgrown(waiting.now);
        // Left for the entry that replaces this one.
        const bool is_closed = is_outgrown ? entry.high() == Entry::kClosed
                                           : entry.locate(waiting.now).sequence == Entry::kClosed;
        if (is_closed) return false;
        if (!is_outgrown &&
            entry.merge_imported(cell->first.second, {waiting.own, waiting.foreign}))
            has_foreign |= waiting.foreign != 0;
        cell = erase(cell);
    }
    return has_foreign;
}

std::optional<Entry::Key> HashedNameCells::find_or_hold(const ImportedCell& cell, UnixTime now) {
    const StoredKeyId id = stored_key_id(cell.cell);
    const MutexLock lock(mutex_);
    if (const auto found = keys_.find(id); found != keys_.end()) {
        for (const Entry* const entry : table_.entries_with_hash(found->second)) {
            Entry::Key key = entry->key();
            if (id_of(key) == id) return key;
        }
    }
    const auto [it, is_new] = cells_.try_emplace({id, cell.cell.sequence});
    Waiting& waiting = it->second;
    waiting.foreign = std::max(waiting.foreign, cell.foreign);
    waiting.own = std::max(waiting.own, cell.own);
    waiting.now = now;
    if (is_new) {
        waiting.dies = start_of(cell.cell.sequence + 2, cell.cell.duration);
        deaths_.emplace(std::pair(waiting.dies, it->first), it);
        drop_excess();
    }
    return std::nullopt;
}

// In short steps: requests that create entries of long keys wait for the mutex.
void HashedNameCells::forget_dead(UnixTime now) {
    const EpochPin pin;
    while (forget_dead_cells(now)) {
    }
    for (std::size_t left = kChecksPerImport; left > 0; left -= kStep) {
        const MutexLock lock(mutex_);
        forget_removed_keys(kStep);
    }
}

bool HashedNameCells::forget_dead_cells(UnixTime now) {
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < kStep; ++i) {
        if (deaths_.empty() || deaths_.begin()->first.first > now) return false;
        erase(deaths_.begin()->second);
    }
    return true;
}

void HashedNameCells::drop_excess() {
    if (cells_.size() <= most_cells_) return;
    erase(deaths_.begin()->second);
    dropped_.fetch_add(1, std::memory_order_relaxed);
}

HashedNameCells::Cells::iterator HashedNameCells::erase(Cells::iterator cell) {
    deaths_.erase({cell->second.dies, cell->first});
    return cells_.erase(cell);
}

// Goes through the index in a circle. A key whose entry is created again is added again.
void HashedNameCells::forget_removed_keys(std::size_t at_most) {
    for (std::size_t left = std::min(at_most, keys_.size()); left > 0; --left) {
        auto key = keys_.upper_bound(last_checked_);
        if (key == keys_.end()) key = keys_.begin();
        last_checked_ = key->first;
        if (table_.entries_with_hash(key->second).empty()) keys_.erase(key);
    }
}

std::size_t HashedNameCells::keys() const {
    const MutexLock lock(mutex_);
    return keys_.size();
}

std::size_t HashedNameCells::cells() const {
    const MutexLock lock(mutex_);
    return cells_.size();
}

}  // namespace sluice
