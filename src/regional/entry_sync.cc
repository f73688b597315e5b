#include "regional/entry_sync.h"

#include <algorithm>

#include "window/sharing.h"

namespace sluice {
namespace {

// The time of the entry's last request. An older request is decided at the oldest instant that the
// entry holds.
UnixTime last_use(const Entry& entry, Sequence high) {
    return std::max(entry.last_used(), start_of(high - 1, entry.duration()));
}

}  // namespace

// The window may have turned since `settled` was determined.
EntrySync::EntrySync(const Entry& entry, std::optional<Sequence> settled)
    : settled_(entry),
      current_(entry.high()),
      own_{settled_.of(current_), settled == current_ - 1 ? 0 : settled_.of(current_ - 1)},
      incarnation_(entry.incarnation()),
      as_of_(last_use(entry, current_)),
      has_previous_(settled != current_ - 1) {}

EntrySync::EntrySync(const Entry& entry, Sequence current, UnixTime now)
    : settled_(entry),
      current_(current),
      own_{settled_.of(current), settled_.of(current - 1)},
      incarnation_(entry.incarnation()),
      as_of_(now),
      has_previous_(true) {}

KeyComponents EntrySync::components(const Entry& entry) const {
    const Duration left = start_of(current_ + 2, entry.duration()) - as_of_;
    return {.current = name_of(entry.key(), current_),
            .incarnation = incarnation_,
            .own = own_,
            .peers = {entry.peers(current_), entry.peers(current_ - 1)},
            .lifetime = std::clamp(left, Duration{1}, 3 * entry.duration()),
            .has_previous = has_previous_};
}

std::optional<Sequence> EntrySync::settled_previous(Entry& entry, Duration waited) {
    const Sequence current = entry.high();
    const UnixTime start = start_of(current, entry.duration());
    const Duration elapsed = last_use(entry, current) - start;
    const Duration step =
        std::min(entry.duration() / kViewParts, std::max(2 * kMaxViewAge, kFlushParts * waited));
    const UnixTime since = start + std::max(kMaxViewAge, elapsed / step * step);
    // In this order: a late pass raises the count before it sets the flag.
    if (entry.take_late() || !entry.is_synced_in(current)) return std::nullopt;
    if (elapsed < kMaxViewAge || entry.refreshed_at() < since) return std::nullopt;
    return current - 1;
}

void EntrySync::merge_peers(const KeyTotals& totals, Entry& entry) const {
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const Sequence sequence = current_ - static_cast<Sequence>(i);
        // For a later entry of the key, components of this one count as peers'. How much of the
        // total the later one wrote itself is not known.
        const Count most = entry.most_at_origin(sequence);
        const Count own = is_of(entry) ? totals[i].own : most;
        if (totals[i].total > own) entry.raise_peers(sequence, totals[i].total - own);
        // Of what a peer knew, any part of our component may be part.
        if (totals[i].known > most) entry.raise_peers(sequence, totals[i].known - most);
    }
}

// The origin's component beyond that is credit for spends.
void EntrySync::note_synced(Count granted, Entry& entry) const {
    if (is_of(entry)) entry.set_synced(current_, saturating_add(own_[0], granted));
}

void EntrySync::note_view(Entry& entry) const {
    if (is_of(entry)) entry.set_refreshed(as_of_);
}

}  // namespace sluice
