#include "regional/flush_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "counter/epoch.h"
#include "window/sharing.h"

namespace sluice {

using std::chrono::milliseconds;

FlushQueue::~FlushQueue() {
    const auto give_back = [this](Entry& entry) {
        if (!table_.changed().give_back(entry)) table_.dispose(entry);
    };
    for (const InFlightKey& one : underway_)
        if (!one.is_in_lane) give_back(*one.queued.entry);
    for (const Lane& lane : lanes_)
        for (const Queued& queued : lane)
            give_back(*queued.entry);
    for (const Queued& queued : aside_)
        give_back(*queued.entry);
    for (const auto& [retry_at, queued] : failing_)
        give_back(*queued.entry);
}

FlushQueue::Time::duration FlushQueue::lag_of(std::size_t lane) {
    return kFlushWithin / (1 << (kLanes - 1 - lane));
}

std::size_t FlushQueue::lane_of(Duration window) {
    const Duration within = flush_within(window);
    std::size_t lane = kLanes - 1;
    while (lane > 0 && lag_of(lane) > within)
        --lane;
    return lane;
}

// An entry is listed before it becomes urgent, so the urgent ones are taken first.
void FlushQueue::collect(Time now) {
    const std::vector<std::uint64_t> urgent = table_.changed().take_urgent();
    ChangedList::Taken taken = table_.changed().take();
    for (Entry* const entry : taken.retired)
        table_.dispose(*entry);
    std::ranges::reverse(taken.changed);  // they come newest first
    for (Entry* const entry : taken.changed) {
        lanes_[lane_of(entry->duration())].push_back({.entry = entry, .since = now});
        note_counted(*entry);
    }
    collect_urgent(urgent);
}

// Each is in a lane, underway, or already synced.
void FlushQueue::collect_urgent(std::span<const std::uint64_t> hashes) {
    if (hashes.empty()) return;
    const EpochPin pin;
    for (const std::uint64_t hash : hashes) {
        Entry* const entry = table_.guess(hash);
        if (entry == nullptr || entry->hash() != hash) continue;
        if (entry->is_taken()) {
            urgent_.push_back(entry);
        } else {
            entry->end_urgent();
        }
    }
}

// Three eighths of the time are left for the write itself, and for keys that wait their turn.
std::optional<FlushQueue::FirstDue> FlushQueue::first_due() const {
    std::optional<FirstDue> first;
    for (std::size_t i = 0; i < kLanes; ++i) {
        if (lanes_[i].empty()) continue;
        const Time due = lanes_[i].front().since + lag_of(i) * 5 / 8;
        if (!first || due <= first->due) first = {.lane = i, .due = due};
    }
    return first;
}

std::vector<KeyComponents> FlushQueue::next(Time now, Scope scope) {
    std::vector<KeyComponents> batch;
    if (is_underway()) return batch;
    requeue_failing(now);
    const auto oldest = first_due();
    const bool is_late = oldest && now - oldest->due > kFlushWithin / 16;
    const std::size_t most = is_late ? kLateBatchKeys : kBatchKeys;
    std::size_t urgent = 0;
    for (; urgent < urgent_.size() && batch.size() < most; ++urgent)
        add({.entry = urgent_[urgent], .since = now}, now, true, batch);
    urgent_.erase(urgent_.begin(), urgent_.begin() + static_cast<std::ptrdiff_t>(urgent));
    // A call for urgent keys includes due ones.
    if (!batch.empty() && scope == Scope::kUrgent) scope = Scope::kDue;
    while (batch.size() < most && scope != Scope::kUrgent) {
        const auto first = first_due();
        if (!first || (first->due > now && scope != Scope::kAll)) break;
        Lane& lane = lanes_[first->lane];
        const Queued queued = lane.front();
        lane.pop_front();
        add(queued, now, false, batch);
    }
    return batch;
}

void FlushQueue::add(const Queued& queued,
                     Time now,
                     bool is_in_lane,
                     std::vector<KeyComponents>& batch) {
    Entry& entry = *queued.entry;
    if (is_in_lane) {
        entry.end_urgent();
        if (paused_.is_paused(entry.hash(), now)) return;
    }
    ChangedList::begin_read(entry);
    const auto waited = std::chrono::floor<Duration>(now - queued.since);
    const auto settled = EntrySync::settled_previous(entry, waited);
    const InFlightKey one{
        .queued = queued, .sync = EntrySync(entry, settled), .is_in_lane = is_in_lane};
    if (entry.is_retired() || one.sync.is_empty(entry)) return release(one);
    batch.push_back(one.sync.components(entry));
    underway_.push_back(one);
}

void FlushQueue::answered(std::span<const KeyAnswer> answers, const Note& note) {
    SLUICE_CHECK(answers.size() == underway_.size());
    const std::vector<InFlightKey> done = std::exchange(underway_, {});
    for (std::size_t i = 0; i < done.size(); ++i) {
        Entry& entry = *done[i].queued.entry;
        const std::optional<Time> retry_at = note(entry, answers[i]);
        if (answers[i]) {
            done[i].sync.merge(*answers[i], entry);
            if (!done[i].sync.has_all_previous(entry)) entry.note_late();
            note_counted(entry);
            release(done[i]);
            continue;
        }
        if (done[i].sync.has_previous()) entry.note_late();
        if (done[i].is_in_lane) continue;
        if (retry_at) {
            failing_.emplace(*retry_at, done[i].queued);
        } else {
            aside_.push_back(done[i].queued);
        }
    }
}

// An entry in urgent_ must stay queued.
void FlushQueue::release(const InFlightKey& done) {
    if (done.is_in_lane) return;
    Entry& entry = *done.queued.entry;
    if (std::ranges::find(urgent_, &entry) != urgent_.end()) {
        lanes_[lane_of(entry.duration())].push_back(done.queued);
    } else if (!table_.changed().release(entry, done.sync.settled())) {
        table_.dispose(entry);
    }
}

void FlushQueue::requeue_failing(Time now) {
    const auto end = failing_.upper_bound(now);
    for (auto i = failing_.begin(); i != end; ++i)
        lanes_[lane_of(i->second.entry->duration())].push_back(
            {.entry = i->second.entry, .since = now});
    failing_.erase(failing_.begin(), end);
}

void FlushQueue::retry(std::size_t most) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(most, aside_.size()));
    // Backwards, so that the oldest ends up in front.
    for (auto i = aside_.begin() + count; i != aside_.begin();) {
        --i;
        lanes_[lane_of(i->entry->duration())].push_front(*i);
    }
    aside_.erase(aside_.begin(), aside_.begin() + count);
}

void FlushQueue::tidy() {
    retry(aside_.size());
    for (Entry* const entry : urgent_)
        entry->end_urgent();
    urgent_.clear();
    for (Lane& lane : lanes_) {
        std::erase_if(lane, [this](const Queued& queued) {
            if (!queued.entry->is_retired()) return false;
            table_.dispose(*queued.entry);
            return true;
        });
    }
    std::erase_if(failing_, [this](const auto& one) {
        if (!one.second.entry->is_retired()) return false;
        table_.dispose(*one.second.entry);
        return true;
    });
}

std::optional<FlushQueue::Time> FlushQueue::due() const {
    if (!urgent_.empty()) return Time::min();
    const auto first = first_due();
    if (failing_.empty()) return first ? std::optional(first->due) : std::nullopt;
    const Time retry_at = failing_.begin()->first;
    return first ? std::min(first->due, retry_at) : retry_at;
}

FlushQueue::Time::duration FlushQueue::lag(Time now) const {
    Time oldest = now;
    for (const Lane& lane : lanes_)
        if (!lane.empty()) oldest = std::min(oldest, lane.front().since);
    for (const InFlightKey& one : underway_)
        oldest = std::min(oldest, one.queued.since);
    for (const Queued& queued : aside_)
        oldest = std::min(oldest, queued.since);
    return now - oldest;
}

bool FlushQueue::has_queued_by(Time then) const {
    return std::ranges::any_of(underway_,
                               [&](const InFlightKey& one) { return one.queued.since <= then; }) ||
           std::ranges::any_of(lanes_, [&](const Lane& lane) {
               return !lane.empty() && lane.front().since <= then;
           });
}

bool FlushQueue::is_empty() const {
    return underway_.empty() && aside_.empty() &&
           std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.empty(); });
}

}  // namespace sluice
