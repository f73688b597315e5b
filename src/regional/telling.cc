#include "regional/telling.h"

#include <algorithm>

#include "base/check.h"
#include "window/far.h"

namespace sluice {
namespace {

// Others' counts that are younger than this need not be noted anew with each telling: who decides
// on the entry would have to fetch its line each time that its age is set.
constexpr Duration kYoung{50};

// How long the others' counts of the previous cell are good for. What is spent in it at its very
// end reaches the origin a little later, where a limit is far after a rest, and what a node could
// not tell then, whenever it can.
constexpr Duration kPreviousYoung{5'000};
constexpr Duration kPreviousYoungIfFar{60'000};
constexpr Duration kStragglers{5'000};

bool knows_previous(const Entry& entry, Sequence newest, UnixTime now, Duration young) {
    const UnixTime heard = entry.previous_heard_at();
    return heard >= start_of(newest, entry.duration()) + kStragglers && heard <= now &&
           now - young < heard;
}

// When the entry was used last, by the time of its requests. A request from far back is decided at
// the oldest instant that is held.
UnixTime last_use(const Entry& entry) {
    return std::max(entry.last_used(), start_of(entry.high() - 1, entry.duration()));
}

// Nothing is heard of a window that has begun since the last use.
UnixTime heard_as_of(const Entry& entry, const Components& components, UnixTime heard) {
    const Sequence newest = components.all()[2].sequence;
    const UnixTime end = start_of(newest + 1, entry.duration());
    return std::max(last_use(entry), std::min(heard, end - Duration{1}));
}

Telling::Urgency urgency_of(const Entry& entry, UnixTime now) {
    const auto [sequence, elapsed] = instant_at(now, entry.duration());
    const Count spent =
        entry.spent(sequence) + weighted(entry.spent(sequence - 1), elapsed, entry.duration());
    const Count limit = entry.last_limit();
    if (limit < kSmallLimit || spent >= limit / 2) return Telling::Urgency::kAtOnce;
    return is_far(limit - spent, limit) ? Telling::Urgency::kFar : Telling::Urgency::kSoon;
}

}  // namespace

void merge(const CellTotals& totals, Sequence sequence, Incarnation incarnation, Entry& entry) {
    // To an entry that took the place of another one, what that one told is told by others. How
    // much of the total is its own by now nobody asked: it may be all that it has admitted.
    const bool is_same = incarnation == entry.incarnation();
    const Count own = is_same ? totals.own : entry.admitted(sequence).of(sequence);
    if (totals.total > own) entry.raise_others(sequence, totals.total - own);
}

Telling::Telling(
    const Entry& entry, UnixTime now, UnixTime heard, std::vector<CellComponent>& batch, Aim aim)
    : components_(entry),
      as_of_(heard_as_of(entry, components_, heard)),
      duration_(entry.duration()),
      incarnation_(entry.incarnation()),
      urgency_(urgency_of(entry, last_use(entry))) {
    now = std::max(now, as_of_);
    const Entry::Key key = entry.key();
    const Sequence newest = components_.all()[2].sequence;
    // To be a refresh, it asks for the previous cell now and then, even where this node spent
    // nothing in it.
    is_refresh_ = entry.refreshed_at() != Entry::kAlways && components_.all()[2].count != 0;
    const Duration young = urgency_ == Urgency::kFar ? kPreviousYoungIfFar : kPreviousYoung;
    const auto [previous, spent_in_previous] = components_.all()[1];
    const bool knows = knows_previous(entry, newest, as_of_, young);
    const bool has_told =
        spent_in_previous == 0 || (knows && entry.has_told(previous, spent_in_previous));
    asks_previous_ = is_refresh_ && !knows;
    is_routine_ = is_refresh_ && knows && has_told && urgency_ == Urgency::kFar;
    // In the next window, the others ask for what was spent in this one soon and seldom.
    const bool is_over = now >= start_of(newest + 1, key.duration);
    only_hears_ = aim == Aim::kHear && is_routine_ && !is_over;
    for (const Components::Component& component : components_.all()) {
        if (is_dead(component.sequence, key.duration, now)) continue;
        const bool is_due =
            component.sequence == previous ? asks_previous_ || !has_told : component.count != 0;
        if (is_due) add(key, component, now, batch);
    }
}

void Telling::add(const Entry::Key& key,
                  Components::Component component,
                  UnixTime now,
                  std::vector<CellComponent>& batch) {
    const auto [sequence, count] = component;
    batch.push_back({.cell = name_of(key, sequence),
                     .incarnation = incarnation_,
                     .own = only_hears_ ? 0 : count,
                     .lifetime = start_of(sequence + 2, key.duration) - now,
                     .has_lifetime = is_routine_});
    sequences_[cells_++] = sequence;
}

bool Telling::hear(std::span<const CellAnswer> answers, Entry& entry) const {
    SLUICE_CHECK(answers.size() == cells_);
    const bool is_same = incarnation_ == entry.incarnation();
    const Sequence previous = components_.all()[1].sequence;
    bool all = true;
    for (std::size_t i = 0; i < cells_; ++i) {
        if (!answers[i]) {
            all = false;
            continue;
        }
        merge(*answers[i], sequences_[i], incarnation_, entry);
        if (is_same && sequences_[i] == previous) entry.set_told(previous, answers[i]->own);
    }
    if (!all || !is_refresh_ || !is_same) return all;
    const UnixTime refreshed = entry.refreshed_at();
    if (refreshed == Entry::kNever || as_of_ < refreshed || as_of_ - kYoung >= refreshed)
        entry.set_refreshed(as_of_);
    if (asks_previous_) entry.set_previous_heard(as_of_);
    return all;
}

}  // namespace sluice
