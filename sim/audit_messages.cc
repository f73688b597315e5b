// Checks of the messages between a node, its origin and the store.
#include <algorithm>
#include <numeric>

#include "counter/epoch.h"
#include "sim/audit.h"
#include "sim/bounds.h"

namespace sluice::sim {
namespace {

// An acknowledged row is published again at most every twelfth tick, or after a lost connection.
// Twelve ticks take at least 118 seconds; calls may overtake each other.
constexpr std::int64_t kLeastBetweenRepeats = 100'000;

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

}  // namespace

std::optional<Audit::CallCell> Audit::cell_of(const KeyComponents& key, std::size_t index) {
    Slot& slot = slot_of(key_of(key.current.identifier));
    if (slot.incarnation != key.incarnation) return std::nullopt;
    const Sequence sequence = key.current.sequence - static_cast<Sequence>(index);
    Cell& cell = cell_of(slot, sequence);
    Sent& sent = sent_of(slot, sequence);
    if (cell.sequence != sequence || sent.sequence != sequence) return std::nullopt;
    return CallCell{&cell, &sent};
}

void Audit::sending(const KeyComponents& key) {
    const KeyIndex index = key_of(key.current.identifier);
    if (key.lifetime <= Duration::zero() || key.lifetime > 4 * load_.duration)
        fail("sends a cell with a lifetime of " + std::to_string(key.lifetime.count()) + " ms");
    {
        const EpochPin pin;
        const Entry* const entry = find(index);
        if (entry != nullptr && entry->incarnation() == key.incarnation)
            track_incarnation(slot_of(index), key.incarnation);
    }
    Slot& slot = slot_of(index);
    if (slot.incarnation == key.incarnation)
        slot.newest_sent = std::max(slot.newest_sent, key.current.sequence);
    for (std::size_t i = 0; i < key.own.size(); ++i) {
        const Sequence sequence = key.current.sequence - static_cast<Sequence>(i);
        const Count region = truth_.reserved(index, sequence, config_.region);
        if (key.peers[i] > region)
            fail("tells its origin that its peers spent " + number(key.peers[i]) + " of " +
                 cell_text(index, sequence) + ", of which its region spent " + number(region));
        const auto call = cell_of(key, i);
        if (!call) continue;
        if (key.own[i] > call->cell->admitted)
            fail("sends its origin " + number(key.own[i]) + " of " + cell_text(index, sequence) +
                 ", and has admitted " + number(call->cell->admitted));
        // A cell that is only read is sent as 0.
        if (key.own[i] != 0 && key.own[i] < call->sent->component)
            fail("sends its origin " + number(key.own[i]) + " of " + cell_text(index, sequence) +
                 " after " + number(call->sent->component));
        call->sent->component = std::max(call->sent->component, key.own[i]);
    }
}

// Counts that a spend adds to those of the origin must have been spent: too much denies falsely.
void Audit::sending(const KeySpend& key) {
    sending(key.components);
    const KeyIndex index = key_of(key.components.current.identifier);
    for (std::size_t i = 0; i < key.extra.size(); ++i) {
        const Sequence sequence = key.components.current.sequence - static_cast<Sequence>(i);
        const Count region = truth_.reserved(index, sequence, config_.region);
        const Count foreign = truth_.reserved(index, sequence) - region;
        if (key.extra[i] > foreign)
            fail("has its origin decide " + cell_text(index, sequence) + " with " +
                 number(key.extra[i]) + " spent by other regions, which spent " + number(foreign));
    }
}

void Audit::update_credit(KeyIndex key, const Cell& cell, Sent& sent) {
    const Count credit = sent.at_origin - std::min(sent.at_origin, cell.admitted);
    truth_.change_credit(key, cell.sequence, config_.region, sent.credit, credit);
    sent.credit = credit;
}

void Audit::at_origin(const KeyComponents& key, const KeyTotals& after) {
    const KeyIndex index = key_of(key.current.identifier);
    for (std::size_t i = 0; i < after.size(); ++i) {
        const Sequence sequence = key.current.sequence - static_cast<Sequence>(i);
        if (const auto call = cell_of(key, i)) {
            call->sent->at_origin = std::max(call->sent->at_origin, after[i].own);
            update_credit(index, *call->cell, *call->sent);
        } else if (after[i].own > key.own[i]) {
            // The entry was evicted, so that its credit is never used.
            truth_.change_credit(index, sequence, config_.region, 0, after[i].own - key.own[i]);
        }
        const Count reserved = truth_.reserved(index, sequence, config_.region);
        if (after[i].spent() > reserved)
            fail("leaves its origin with " + number(after[i].spent()) + " of " +
                 cell_text(index, sequence) + ", of which its region spent " + number(reserved));
    }
}

// By invariant 1, the origin decides by the formula, from its own counts and those that the node
// sent.
void Audit::check_grants(const KeySpend& key, const KeyTotals& before, const KeyGrants& grants) {
    const KeyComponents& sent = key.components;
    // A late call for an entry that was evicted is denied, once the origin knows its successor.
    const bool has_successor =
        slot_of(key_of(sent.current.identifier)).incarnation != sent.incarnation;
    const bool has_granted = std::ranges::find(grants.granted, true) != grants.granted.end();
    if (has_successor && !has_granted && grants.totals[0].own == 0) return;
    const auto peers = [&](std::size_t i) {
        return std::max(before[i].spent() - before[i].own, sent.peers[i]) + key.extra[i];
    };
    Count used = sent.own[0];
    for (std::size_t i = 0; i < key.requests.size(); ++i) {
        const SpendRequest& request = key.requests[i];
        const bool passes = naive_pass({.current = peers(0) + used,
                                        .previous = peers(1) + std::max(before[1].own, sent.own[1]),
                                        .elapsed_ms = request.elapsed.count(),
                                        .duration_ms = load_.duration.count(),
                                        .cost = request.ask.cost,
                                        .limit = request.ask.limit});
        if (passes != grants.granted[i])
            fail("its origin " + std::string(passes ? "denied" : "granted") + " cost " +
                 number(request.ask.cost) + " at " +
                 cell_text(key_of(sent.current.identifier), sent.current.sequence) +
                 ", against the formula");
        used += grants.granted[i] ? request.ask.cost : 0;
    }
    if (grants.totals[0].own != std::max(before[0].own, used))
        fail("its origin granted " + number(used - sent.own[0]) + " on top of " +
             number(sent.own[0]) + ", and holds " + number(grants.totals[0].own));
}

void Audit::read(Slot& slot,
                 const KeyComponents& key,
                 const KeyTotals& totals,
                 std::int64_t done_ms) {
    if (slot.incarnation != key.incarnation) return;
    slot.was_read = true;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const auto call = cell_of(key, i);
        if (!call) continue;
        call->cell->viewed_ms = std::max(call->cell->viewed_ms, done_ms);
        call->cell->read = std::max(call->cell->read, totals[i].total - totals[i].own);
        call->cell->acked = std::max(call->cell->acked, key.own[i]);
    }
}

void Audit::synced(const KeyComponents& key,
                   const KeyTotals& totals,
                   std::int64_t done_ms,
                   std::int64_t now_ms) {
    Slot& slot = slot_of(key_of(key.current.identifier));
    slot.answered_ms = now_ms;
    read(slot, key, totals, done_ms);
}

void Audit::spent(const KeySpend& key,
                  const KeyGrants& grants,
                  std::int64_t done_ms,
                  std::int64_t now_ms) {
    synced(key.components, grants.totals, done_ms, now_ms);
    Slot& slot = slot_of(key_of(key.components.current.identifier));
    slot.spent_as = key.components.incarnation;
    const auto call = cell_of(key.components, 0);
    if (!call) return;
    Count granted = 0;
    for (std::size_t i = 0; i < key.requests.size(); ++i)
        granted += grants.granted[i] ? key.requests[i].ask.cost : 0;
    call->cell->acked = std::max(call->cell->acked, key.components.own[0] + granted);
}

void Audit::publishing(const CellName& name, Count count, std::int64_t true_ms) {
    const KeyIndex key = key_of(name.identifier);
    const Count region = truth_.reserved(key, name.sequence, config_.region);
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
             " again though the store has acknowledged " + number(cell.acked));
    cell.row = std::max(cell.row, count);
}

void Audit::announcing(const CellName& name, Count count) {
    const KeyIndex key = key_of(name.identifier);
    const Count region = truth_.reserved(key, name.sequence, config_.region);
    if (count > region)
        fail("announces " + number(count) + " for " + cell_text(key, name.sequence) +
             ", where its region spent " + number(region));
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

// A merged row shows in the entry: the largest rows of other regions, added up, as global; the
// region's own row as a lower bound of its spend. Windows that have ended by the node's clock are
// exempt. A node without an entry decides nothing.
void Audit::imported(const RegionRow& row, UnixTime now) {
    // A ring that is ahead has no place for it.
    if (config_.has_far_steps) return;
    const Sequence sequence = row.cell.sequence;
    const Sequence today = instant_at(now, load_.duration).sequence;
    const KeyIndex key = key_of(row.cell.identifier);
    if (sequence < today - 1 || sequence > today) return;
    Received& cell = slot_of(key).received[static_cast<std::size_t>(sequence) % kTrueCells];
    if (cell.sequence > sequence) return;
    if (cell.sequence < sequence)
        cell = {.sequence = sequence, .by_region = std::vector<Count>(truth_.regions())};
    Count& component = cell.by_region[region_named(row.region)];
    component = std::max(component, row.count);
    const EpochPin pin;
    const Entry* const entry = find(key);
    if (entry == nullptr) return;
    const Count own = cell.by_region[config_.region];
    const Count foreign =
        std::accumulate(cell.by_region.begin(), cell.by_region.end(), Count{0}) - own;
    const Count regional = entry->admitted(sequence).of(sequence) + entry->peers(sequence);
    const Count global = entry->global(sequence);
    // The row may include a grant to this node whose answer is in flight or was lost.
    const bool has_credit = entry->credit(sequence) != 0;
    if ((regional < own && !has_credit) || global < foreign)
        fail("received " + number(own) + " spent by its region and " + number(foreign) +
             " by other regions at " + cell_text(key, sequence) + ", and holds " +
             number(regional) + " and " + number(global));
}

void Audit::check_staleness(KeyIndex key, Sequence sequence, std::int64_t true_ms) {
    const Count expected = expectations_.foreign_count(config_.region, key, sequence, true_ms);
    if (expected == 0) return;
    const EpochPin pin;
    const Entry* const entry = find(key);
    if (entry == nullptr) return;
    const Count global = entry->global(sequence);
    if (global < expected)
        fail("counts " + number(global) + " as spent by other regions at " +
             cell_text(key, sequence) + ", which spent " + number(expected) + " more than " +
             number(static_cast<std::uint64_t>(expectations_.longest_between_regions().count())) +
             " ms ago, less what they may keep to themselves");
}

}  // namespace sluice::sim
