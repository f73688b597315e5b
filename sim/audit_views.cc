// Checks of the final state of a run, and queries about what a node holds, evicted and admitted.
#include <algorithm>

#include "counter/epoch.h"
#include "sim/audit.h"

namespace sluice::sim {
namespace {

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

}  // namespace

bool Audit::holds(KeyIndex key) {
    const EpochPin pin;
    return find(key) != nullptr;
}

void Audit::check_converged(KeyIndex key, Sequence sequence, const Expected& expected) {
    const EpochPin pin;
    const Entry* const entry = find(key);
    if (entry == nullptr || sequence < entry->high() - 2 || sequence > entry->high() + 1) return;
    const Count region = truth_.of_region(key, sequence, config_.region);
    const Count reserved = truth_.reserved(key, sequence, config_.region);
    const Count regional = entry->admitted(sequence).of(sequence) + entry->peers(sequence);
    // A node reads the current window by its clock, and the one before.
    const Sequence today = instant_at(expected.node_time, load_.duration).sequence;
    const bool is_lossy = truth_.lost(key, sequence, config_.region) == Truth::Lost::kToRegion ||
                          has_displaced() || sequence > today || sequence < today - 1;
    // More than was spent would be an answer that was counted twice (invariant 11).
    if (regional > reserved || (regional < region && !is_lossy))
        fail("after all faults it counts " + number(regional) + " as spent by its region at " +
             cell_text(key, sequence) + ", which spent " + number(region));
    const Count foreign = truth_.total(key, sequence) - region;
    const Count most_foreign = truth_.reserved(key, sequence) - reserved;
    // Evicted counts return with the next full import.
    bool may_lack = !expected.is_shared_widely || expected.may_be_unpublished || has_displaced();
    for (std::uint32_t other = 0; other < truth_.regions(); ++other)
        may_lack |=
            other != config_.region && truth_.lost(key, sequence, other) != Truth::Lost::kNothing;
    const Count global = entry->global(sequence);
    if (global > most_foreign || (global < foreign && !may_lack))
        fail("after all faults it counts " + number(global) + " as spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(foreign));
}

// Spend of the two cells that the origin has not acknowledged, plus `cost`. Late entries to the
// previous cell are left out: a node treats that cell as synced once the current one is.
Count Audit::unsynced(const Observation& seen, Count cost) const {
    const auto of = [&](Sequence sequence, Count more) {
        const Cell& cell = seen.slot->cells[static_cast<std::size_t>(sequence) % kTrueCells];
        if (cell.sequence != sequence) return more;
        const Count admitted = cell.admitted + more;
        const Count unsynced = admitted - std::min(admitted, cell.acked);
        return unsynced - std::min(unsynced, cell.late);
    };
    return of(seen.sequence, cost) + of(seen.sequence - 1, 0);
}

Entry* Audit::find(KeyIndex key) const {
    const Request request = truth_.request(key, 0);
    return table_.find(table_.key(request));
}

bool Audit::has_displaced() const {
    return table_.tally().evicted.load(std::memory_order_relaxed) != 0;
}

bool Audit::has_displaced(KeyIndex key, Sequence sequence) const {
    if (key >= places_.size() || places_[key] == 0) return false;
    const Slot& slot = slots_[places_[key] - 1];
    return sequence <= slot.displaced || (admitted(key, sequence) != 0 && is_gone(key));
}

bool Audit::is_gone(KeyIndex key) const {
    const EpochPin pin;
    const Entry* const entry = find(key);
    return entry == nullptr || !entry->stays() ||
           entry->incarnation() != slots_[places_[key] - 1].incarnation;
}

Count Audit::regional(KeyIndex key, Sequence sequence) const {
    const EpochPin pin;
    const Entry* const entry = find(key);
    if (entry == nullptr || !entry->stays()) return 0;
    return entry->admitted(sequence).of(sequence) + entry->peers(sequence);
}

std::uint64_t Audit::evicted_unsynced() const {
    return table_.tally().evicted_unsynced.load(std::memory_order_relaxed);
}

bool Audit::has_published(KeyIndex key, Sequence sequence, Count count) const {
    if (key >= places_.size() || places_[key] == 0) return false;
    const Sent& sent =
        slots_[places_[key] - 1].sent[static_cast<std::size_t>(sequence) % kTrueCells];
    return sent.sequence == sequence && sent.row >= count;
}

Count Audit::admitted(KeyIndex key, Sequence sequence) const {
    if (key >= places_.size() || places_[key] == 0) return 0;
    const Cell& cell =
        slots_[places_[key] - 1].cells[static_cast<std::size_t>(sequence) % kTrueCells];
    return cell.sequence == sequence ? cell.admitted : 0;
}

void Audit::each_admitted(const std::function<void(const Admitted&)>& visit) const {
    for (const Slot& slot : slots_) {
        for (const Cell& cell : slot.cells) {
            if (cell.admitted != 0)
                visit({slot.key, cell.sequence, cell.admitted, slot.incarnation});
        }
    }
}

}  // namespace sluice::sim
