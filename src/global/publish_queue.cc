#include "global/publish_queue.h"

#include <algorithm>
#include <utility>

namespace sluice {

RegionalCounts::RegionalCounts(const Entry& entry)
    : limit(entry.last_limit()), as_of(entry.last_used()) {
    const Components own(entry);
    std::ranges::transform(own.all(), cells.begin(), [&](const Components::Component& component) {
        const auto [sequence, count] = component;
        return Cell{.sequence = sequence,
                    .regional = saturating_add(count, entry.peers(sequence)),
                    .has_foreign = entry.global(sequence) != 0};
    });
}

void RegionalCounts::raise(const RegionalCounts& other) {
    if (limit == 0) limit = other.limit;
    for (Cell& cell : cells) {
        const auto* const found = std::ranges::find(other.cells, cell.sequence, &Cell::sequence);
        if (found != other.cells.end()) cell.regional = std::max(cell.regional, found->regional);
    }
}

void PublishQueue::offer(Entry& entry) {
    // Most are rejected here, before anything is copied.
    if (is_wanted(RegionalCounts(entry))) offer_again(entry);
}

void PublishQueue::offer_again(Entry& entry) {
    if (!entry.begin_offer()) return;
    PublishCandidate candidate{.key = entry.key(), .counts = RegionalCounts(entry)};
    if (!entry.stays()) return entry.end_offer();
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(candidate));
}

// With an unknown limit (0) every count is wanted: a request may name one before the next tick.
bool PublishQueue::is_wanted(const RegionalCounts& counts) const {
    return std::ranges::any_of(counts.cells, [&](const RegionalCounts::Cell& cell) {
        return policy_({.regional = cell.regional,
                        .limit = counts.limit,
                        .has_foreign = cell.has_foreign,
                        .last_pushed = 0});
    });
}

std::vector<PublishCandidate> PublishQueue::take() {
    const MutexLock lock(mutex_);
    return std::exchange(waiting_, {});
}

}  // namespace sluice
