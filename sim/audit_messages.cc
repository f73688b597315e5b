// What a node says and hears, held against what it has granted and may know.
#include <algorithm>

#include "counter/epoch.h"
#include "sim/audit.h"
#include "sim/bounds.h"

namespace sluice::sim {
namespace {

// What the store has acknowledged is published again on one tick in twelve at most, or after the
// connection was lost. Twelve ticks take at least 118 seconds; calls may overtake each other.
constexpr std::int64_t kLeastBetweenRepeats = 100'000;

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

}  // namespace

void Audit::telling(std::span<const CellComponent> components) {
    for (const CellComponent& component : components) {
        if (component.cell.workspace != "sim") continue;
        const KeyIndex key = key_of(component.cell.identifier);
        Slot& slot = slot_of(key);
        if (component.lifetime <= Duration::zero() || component.lifetime > 4 * load_.duration)
            fail("tells of a cell that lives for " + std::to_string(component.lifetime.count()) +
                 " ms");
        if (slot.incarnation != component.incarnation) continue;
        Cell& cell = cell_of(slot, component.cell.sequence);
        if (cell.sequence != component.cell.sequence) continue;
        if (component.own > cell.told)
            fail("tells its origin " + number(component.own) + " of " +
                 cell_text(key, cell.sequence) + ", and has granted " + number(cell.told));
        Sent& sent = sent_of(slot, cell.sequence);
        if (component.own < sent.component)
            fail("tells its origin " + number(component.own) + " of " +
                 cell_text(key, cell.sequence) + " after " + number(sent.component));
        sent.component = std::max(sent.component, component.own);
    }
}

void Audit::heard(const CellName& name,
                  Incarnation incarnation,
                  const CellTotals& totals,
                  std::int64_t true_ms) {
    Slot& slot = slot_of(key_of(name.identifier));
    slot.heard_ms = true_ms;
    if (slot.incarnation != incarnation) return;
    Cell& cell = cell_of(slot, name.sequence);
    if (cell.sequence == name.sequence)
        cell.heard = std::max(cell.heard, totals.total - totals.own);
}

void Audit::publishing(const CellName& name, Count count, std::int64_t true_ms) {
    const KeyIndex key = key_of(name.identifier);
    const Count region = truth_.of_region(key, name.sequence, config_.region);
    if (count > region)
        fail("publishes " + number(count) + " for " + cell_text(key, name.sequence) +
             ", where its region spent " + number(region));
    Sent& cell = sent_of(slot_of(key), name.sequence);
    if (cell.sequence != name.sequence) return;
    if (count < cell.row && load_.churn == 0 && slot_of(key).incarnation == 0)
        fail("publishes " + number(count) + " for " + cell_text(key, name.sequence) + " after " +
             number(cell.row));
    const bool is_repeated_early =
        cell.repeated_ms >= 0 && true_ms < cell.repeated_ms + kLeastBetweenRepeats;
    if (count <= cell.acked && count != 0 && is_repeated_early && !config_.has_steps)
        fail("publishes " + number(count) + " for " + cell_text(key, name.sequence) +
             " again and again though the store has said that it holds " + number(cell.acked));
    cell.row = std::max(cell.row, count);
}

void Audit::published(const CellName& name, Count count, std::int64_t true_ms) {
    Sent& cell = sent_of(slot_of(key_of(name.identifier)), name.sequence);
    if (cell.sequence != name.sequence) return;
    if (count <= cell.acked) cell.repeated_ms = true_ms;
    cell.acked = std::max(cell.acked, count);
}

void Audit::lost_store() {
    for (Slot& slot : slots_) {
        for (Sent& sent : slot.sent) {
            sent.acked = 0;
            sent.repeated_ms = -1;
        }
    }
}

// Whether an import need not make an entry for the key: nobody can tell it from its stored name, or
// the table is full, where imports displace nothing that is in use here.
bool Audit::may_refuse_import(KeyIndex key) const {
    return !is_stored_by_name(truth_.key(key).identifier) ||
           table_.tally().held() >= config_.max_keys;
}

// A row that was merged is held: the other regions' as spent by them, the region's own as the least
// that its nodes spent. Windows that are over by the node's clock need not be held.
void Audit::imported(const ImportedCell& imported, UnixTime now) {
    const Sequence sequence = imported.cell.sequence;
    const Sequence today = instant_at(now, load_.duration).sequence;
    const KeyIndex key = key_of(imported.cell.identifier);
    if (sequence < today - 1 || sequence > today) return;
    const EpochPin pin;
    const Entry* const entry = table_.find(table_.key(truth_.request(key, 0)));
    if (entry == nullptr && may_refuse_import(key)) return;
    const Count regional =
        entry == nullptr ? 0 : entry->admitted(sequence).of(sequence) + entry->others(sequence);
    const Count global = entry == nullptr ? 0 : entry->global(sequence);
    if (regional < imported.own || global < imported.foreign)
        fail("imported " + number(imported.own) + " spent by its region and " +
             number(imported.foreign) + " by others at " + cell_text(key, sequence) +
             ", and holds " + number(regional) + " and " + number(global));
}

void Audit::check_staleness(KeyIndex key, Sequence sequence, std::int64_t true_ms) {
    const Count expected = knowledge_.of_world(config_.region, key, sequence, true_ms);
    if (expected == 0) return;
    const EpochPin pin;
    const Entry* const entry = table_.find(table_.key(truth_.request(key, 0)));
    if (entry == nullptr && may_refuse_import(key)) return;
    const Count global = entry == nullptr ? 0 : entry->global(sequence);
    if (global < expected)
        fail("takes " + number(global) + " to be spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(expected) + " more than " +
             number(static_cast<std::uint64_t>(knowledge_.longest_between_regions().count())) +
             " ms ago");
}

}  // namespace sluice::sim
