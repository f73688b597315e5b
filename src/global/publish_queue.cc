#include "global/publish_queue.h"

#include <algorithm>
#include <utility>

#include "window/sliding.h"

namespace sluice {

RegionalCounts::RegionalCounts(const Entry& entry)
    : duration(entry.duration()), limit(entry.last_limit()), as_of(entry.last_used()) {
    const Components own(entry);
    std::ranges::transform(own.all(), cells.begin(), [&](const Components::Component& component) {
        const auto [sequence, count] = component;
        return Cell{.sequence = sequence,
                    .regional = saturating_add(count, entry.peers(sequence)),
                    .global = entry.global(sequence)};
    });
}

void RegionalCounts::raise(const RegionalCounts& other) {
    if (limit == 0) limit = other.limit;
    for (Cell& cell : cells) {
        const Cell found = other.cell_at(cell.sequence);
        cell.regional = std::max(cell.regional, found.regional);
        cell.global = std::max(cell.global, found.global);
    }
}

// With zeros if it is not held.
RegionalCounts::Cell RegionalCounts::cell_at(Sequence sequence) const {
    const auto* const found = std::ranges::find(cells, sequence, &Cell::sequence);
    if (found != cells.end()) return *found;
    return {.sequence = sequence, .regional = 0, .global = 0};
}

// All spend that a decision at the time of the last request counts.
Count RegionalCounts::known() const {
    const Instant at = instant_at(as_of, duration);
    const auto total = [&](Sequence sequence) {
        const Cell cell = cell_at(sequence);
        return saturating_add(cell.regional, cell.global);
    };
    return saturating_add(total(at.sequence),
                          weighted(total(at.sequence - 1), at.elapsed, duration));
}

// An unknown limit counts as the largest one: a key that was read, and not requested yet, is
// published when it is next requested.
CellUse RegionalCounts::use_of(const Cell& cell, std::size_t regions) const {
    return {.regional = cell.regional,
            .limit = limit == 0 ? kMaxCount : limit,
            .known = known(),
            .has_foreign = cell.global != 0 || cell_at(cell.sequence - 1).global != 0,
            .last_pushed = 0,
            .is_still = false,
            .regions = regions};
}

// With nothing published yet.
PublishTime PublishQueue::earliest(const RegionalCounts& counts) const {
    PublishTime earliest = PublishTime::kNever;
    for (const RegionalCounts::Cell& cell : counts.cells) {
        if (cell.regional == 0) continue;
        const PublishTime time =
            config_.policy(counts.use_of(cell, regions_.load(std::memory_order_relaxed)));
        // A request may name a limit before the next tick.
        earliest = std::max(earliest, counts.limit == 0 ? PublishTime::kWithTick : time);
    }
    return earliest;
}

void PublishQueue::offer(Entry& entry) {
    // Most are rejected here, before anything is copied or looked up.
    const RegionalCounts counts(entry);
    const PublishTime time = earliest(counts);
    if (time == PublishTime::kNever) return;
    offer_again(entry);
    if (time == PublishTime::kNow && entry.stays()) publish_at_once(entry.key(), counts);
}

void PublishQueue::publish_at_once(const Entry::Key& key, const RegionalCounts& counts) {
    const bool is_bus_live = this->is_bus_live();
    if (!config_.announce && is_urged()) return;
    const StoredKeyId id = stored_key_id(key);
    bool is_urgent = false;
    for (const RegionalCounts::Cell& cell : counts.cells) {
        if (cell.regional == 0) continue;
        CellUse use = counts.use_of(cell, regions_.load(std::memory_order_relaxed));
        const auto is_due = [&](Count last) {
            use.last_pushed = last;
            return config_.policy(use) == PublishTime::kNow;
        };
        if (config_.announce && is_due(components_.announced(id, cell.sequence))) {
            const CellName name = stored_name(name_of(key, cell.sequence));
            components_.note_announced(id, name, cell.regional);
            config_.announce(name, cell.regional);
        }
        is_urgent |= !is_bus_live && is_due(components_.sums(id, cell.sequence).own);
    }
    if (is_urgent && !is_urged_.exchange(true, std::memory_order_relaxed)) config_.urged();
}

void PublishQueue::offer_again(Entry& entry) {
    if (!entry.begin_offer()) return;
    PublishCandidate candidate{.key = entry.key(), .counts = RegionalCounts(entry)};
    if (!entry.stays()) return entry.end_offer();
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(candidate));
}

std::vector<PublishCandidate> PublishQueue::take() {
    is_urged_.store(false, std::memory_order_relaxed);
    const MutexLock lock(mutex_);
    return std::exchange(waiting_, {});
}

}  // namespace sluice
