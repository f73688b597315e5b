#include "regional/telling.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {
namespace {

// What others spent at the very end of a window reaches the origin a little later.
constexpr Duration kStragglers{1'000};

// When the entry was used last, by the time of its requests. A request from far back is decided at
// the oldest instant that is held.
UnixTime last_use(const Entry& entry) {
    return std::max(entry.last_used(), start_of(entry.high() - 1, entry.duration()));
}

constexpr Count kSmallLimit = 256;

// A key in use is told of many times a second. Who decides on it would have to fetch the entry's
// line anew each time that its age is set.
bool is_news(UnixTime refreshed, UnixTime now) {
    constexpr Duration kSmall{50};
    return now < refreshed || now - kSmall >= refreshed;
}

bool matters_soon(const Entry& entry, UnixTime now) {
    const auto [sequence, elapsed] = instant_at(now, entry.duration());
    const Count spent =
        entry.spent(sequence) + weighted(entry.spent(sequence - 1), elapsed, entry.duration());
    const Count limit = entry.last_limit();
    return limit < kSmallLimit || spent >= limit / 2;
}

}  // namespace

CellName name_of(const Entry::Key& key, Sequence sequence) {
    return {.workspace = key.workspace,
            .name_space = key.name_space,
            .identifier = key.identifier,
            .duration = key.duration,
            .sequence = sequence};
}

void merge(const CellTotals& totals, Sequence sequence, Incarnation incarnation, Entry& entry) {
    // To an entry that took the place of another one, what that one told is told by others. How
    // much of the total is its own by now nobody asked: it may be all that it has admitted.
    const bool is_same = incarnation == entry.incarnation();
    const Count own = is_same ? totals.own : entry.admitted(sequence).of(sequence);
    if (totals.total > own) entry.raise_others(sequence, totals.total - own);
}

Telling::Telling(const Entry& entry, UnixTime now, std::vector<CellComponent>& batch)
    : components_(entry),
      as_of_(last_use(entry)),
      incarnation_(entry.incarnation()),
      is_urgent_(matters_soon(entry, as_of_)) {
    now = std::max(now, as_of_);
    const Entry::Key key = entry.key();
    const Sequence newest = components_.all()[2].sequence;
    // Once a window, the previous cell is asked for even where this node spent nothing in it.
    const UnixTime refreshed = entry.refreshed_at();
    const bool knows_previous = refreshed >= start_of(newest, key.duration) + kStragglers;
    for (const Components::Component& component : components_.all()) {
        if (is_dead(component.sequence, key.duration, now)) continue;
        const bool asks = component.sequence == newest - 1 && !knows_previous;
        if (component.count == 0 && !asks) continue;
        add(key, component, now, batch);
        if (component.sequence == newest) is_refresh_ = true;
    }
    is_refresh_ &= refreshed != Entry::kAlways;
}

void Telling::add(const Entry::Key& key,
                  Components::Component component,
                  UnixTime now,
                  std::vector<CellComponent>& batch) {
    const auto [sequence, count] = component;
    batch.push_back({.cell = name_of(key, sequence),
                     .incarnation = incarnation_,
                     .own = count,
                     .lifetime = start_of(sequence + 2, key.duration) - now});
    sequences_[cells_++] = sequence;
}

bool Telling::hear(std::span<const CellAnswer> answers, Entry& entry) const {
    SLUICE_CHECK(answers.size() == cells_);
    bool all = true;
    for (std::size_t i = 0; i < cells_; ++i) {
        if (!answers[i]) {
            all = false;
            continue;
        }
        merge(*answers[i], sequences_[i], incarnation_, entry);
    }
    if (all && is_refresh_ && is_news(entry.refreshed_at(), as_of_)) entry.set_refreshed(as_of_);
    return all;
}

}  // namespace sluice
