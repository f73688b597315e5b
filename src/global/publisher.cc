#include "global/publisher.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "counter/epoch.h"
#include "global/hashed_name_cells.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

// The delay between a failed chunk and its retry; it doubles with each failure.
constexpr milliseconds kFirstRetry{50};
constexpr int kMostDoublings = 6;

// How often a chunk whose rows are locked is halved: down to a single row.
constexpr int kMostHalvings = 10;

// How often an open breaker is checked.
constexpr milliseconds kBreakerLook{500};

Request request_for(const Entry::Key& key) {
    return {.workspace = key.workspace,
            .name_space = key.name_space,
            .identifier = key.identifier,
            .duration = key.duration};
}

}  // namespace

Publisher::Publisher(
    Table& table, PublishQueue& queue, StoreBreaker& breaker, const Config& config, Time now)
    : table_(table),
      publish_queue_(queue),
      breaker_(breaker),
      policy_(config.policy),
      interval_(config.interval),
      most_cells_(config.most_cells),
      schedule_(config.interval, now, config.seed),
      wake_at_(schedule_.next()),
      jitter_(config.seed) {}

std::optional<std::span<const RegionCount>> Publisher::next(Time now,
                                                            std::optional<UnixTime> wall) {
    if (is_underway_ || now < wake_at_) return std::nullopt;
    if (!tick_began_) begin_tick(now, wall);
    if (chunk_.empty()) fill_chunk(wall);
    if (chunk_.empty() && !needs_round_trip_) {
        end_tick(now);
        return std::nullopt;
    }
    if (!breaker_.allow(now)) {
        await_breaker(now);
        return std::nullopt;
    }
    is_underway_ = true;
    call_began_ = now;
    return chunk_;
}

void Publisher::begin_tick(Time now, std::optional<UnixTime> wall) {
    const bool is_regular = !std::exchange(is_extra_tick_, false);
    tick_began_ = now;
    const std::vector<PublishCandidate> candidates = publish_queue_.take();
    UnixTime time = wall.value_or(UnixTime::min());
    if (!wall) {
        for (const PublishCandidate& candidate : candidates)
            time = std::max(time, candidate.counts.as_of);
    }
    forget_dead(time);
    for (const PublishCandidate& candidate : candidates)
        collect(candidate, wall);
    make_room();
    if (is_regular) ticks_ = (ticks_ + 1) % kRepublishEvery;
    if (is_regular && ticks_ == 0) {
        republish(now, std::nullopt);
    } else {
        sort_waiting(now);
    }
    needs_round_trip_ = is_regular && waiting_.empty() && !cells_.empty();
}

bool Publisher::republish(Time now, std::optional<std::uint64_t> current_connection) {
    bool has_any = false;
    for (auto it = cells_.begin(); it != cells_.end(); ++it) {
        Cell& cell = it->second;
        if (cell.last_pushed == 0 || cell.connection == current_connection) continue;
        has_any = true;
        if (!std::exchange(cell.is_waiting, true)) waiting_.push_back(it);
    }
    sort_waiting(now);
    return has_any;
}

void Publisher::sort_waiting(Time now) {
    const auto rank = [](Cells::iterator it) {
        const auto& [name, cell] = *it;
        return std::tuple<bool, int, const CellName&>(cell.is_repeat(), cell.failures, name);
    };
    std::ranges::sort(waiting_, std::greater{}, rank);
    if (!waiting_.empty() && waiting_since_.load(std::memory_order_relaxed) == Time::max())
        waiting_since_.store(now, std::memory_order_relaxed);
}

// A cell that is forgotten too early is published once more, which is harmless.
void Publisher::forget_dead(UnixTime now) {
    std::erase_if(waiting_, [&](Cells::iterator cell) { return give_up_if_useless(cell, now); });
    const auto end = deaths_.upper_bound(now);
    for (auto death = deaths_.begin(); death != end; ++death)
        cells_.erase(death->second);
    deaths_.erase(deaths_.begin(), end);
}

// Bounds the memory while the store is unavailable.
void Publisher::make_room() {
    forget_published();
    if (cells_.size() <= most_cells_) return;
    const std::size_t excess = cells_.size() - most_cells_;
    auto death = deaths_.begin();
    for (std::size_t i = 0; i < excess; ++i, ++death) {
        Cell& cell = death->second->second;
        cell.is_waiting = false;
        if (cell.wanted > cell.last_pushed) given_up_.fetch_add(1, std::memory_order_relaxed);
    }
    std::erase_if(waiting_, [](Cells::iterator cell) { return !cell->second.is_waiting; });
    forget_published();
}

// Drops the excess, in the order in which cells cease to matter.
void Publisher::forget_published() {
    for (auto death = deaths_.begin(); cells_.size() > most_cells_ && death != deaths_.end();) {
        if (death->second->second.is_waiting) {
            ++death;
        } else {
            if (death->second->second.last_pushed != 0)
                forgotten_.fetch_add(1, std::memory_order_relaxed);
            cells_.erase(death->second);
            death = deaths_.erase(death);
        }
    }
}

// Uses the counts that the entry holds now. If the entry was displaced meanwhile, the counts of the
// candidate are all that this node knows; if its key has come back, both are parts of one count, of
// which the larger is a lower bound.
//
// A batch in progress makes the counts look smaller than they are, and announces nothing if it is
// denied: so the entry is offered again.
void Publisher::collect(const PublishCandidate& candidate, std::optional<UnixTime> wall) {
    RegionalCounts counts = candidate.counts;
    {
        const EpochPin pin;
        const Request request = request_for(candidate.key);
        if (Entry* const entry = table_.find(table_.key(request))) {
            entry->end_offer();
            const std::uint64_t let_go = entry->let_go();
            const RegionalCounts held(*entry);
            if (entry->stays()) counts = held;
            counts.raise(candidate.counts);
            if (entry->held() != let_go) publish_queue_.offer_again(*entry);
        }
    }
    const UnixTime now = std::max(counts.as_of, wall.value_or(UnixTime::min()));
    for (const RegionalCounts::Cell& cell : counts.cells) {
        if (cell.regional == 0) continue;
        CellName name = name_of(candidate.key, cell.sequence);
        if (!is_useless(name, now)) want(stored_name(std::move(name)), counts, cell);
    }
}

// An unknown limit counts as the largest one: a key that was read and displaced before the tick is
// published when it is next requested.
void Publisher::want(CellName cell, const RegionalCounts& counts, const RegionalCounts::Cell& use) {
    auto it = cells_.lower_bound(cell);
    const bool is_new = it == cells_.end() || it->first != cell;
    if (!policy_({.regional = use.regional,
                  .limit = counts.limit == 0 ? kMaxCount : counts.limit,
                  .has_foreign = use.has_foreign,
                  .last_pushed = is_new ? 0 : it->second.last_pushed}))
        return;
    if (!is_new && use.regional <= it->second.refused) return;
    if (is_new) {
        const UnixTime dies = start_of(cell.sequence + 2, cell.duration);
        it = cells_.try_emplace(it, std::move(cell));
        deaths_.emplace(dies, it);
    }
    it->second.wanted = std::max(it->second.wanted, use.regional);
    if (!std::exchange(it->second.is_waiting, true)) waiting_.push_back(it);
}

bool Publisher::is_useless(const CellName& cell, UnixTime now) const {
    return is_dead(cell.sequence, cell.duration, now + interval_);
}

bool Publisher::give_up_if_useless(Cells::iterator waiting, UnixTime now) {
    auto& [name, cell] = *waiting;
    if (!is_useless(name, now)) return false;
    if (cell.wanted > cell.last_pushed) given_up_.fetch_add(1, std::memory_order_relaxed);
    cell.is_waiting = false;
    return true;
}

void Publisher::fill_chunk(std::optional<UnixTime> wall) {
    while (chunk_.empty() && !(waiting_.empty() && refused_.empty())) {
        chunk_cells_ = next_group();
        const auto is_given_up = [&](Cells::iterator cell) {
            return wall && give_up_if_useless(cell, *wall);
        };
        std::erase_if(chunk_cells_, is_given_up);
        chunk_.reserve(chunk_cells_.size());
        for (const Cells::iterator cell : chunk_cells_)
            chunk_.push_back({.cell = cell->first, .count = cell->second.wanted});
    }
}

// Order: cells that have grown and were not tried yet, then refused groups, then cells whose chunks
// failed and cells that are only repeated.
Publisher::Group Publisher::next_group() {
    Group group;
    const bool can_wait = waiting_.empty() || waiting_.back()->second.failures != 0 ||
                          waiting_.back()->second.is_repeat();
    if (can_wait && !refused_.empty()) {
        group = std::move(refused_.back());
        refused_.pop_back();
        return group;
    }
    const int failures = waiting_.back()->second.failures;
    const std::size_t most = std::max<std::size_t>(kChunkRows >> std::max(failures - 1, 0), 1);
    while (!waiting_.empty() && group.size() < most &&
           waiting_.back()->second.failures == failures) {
        group.push_back(waiting_.back());
        waiting_.pop_back();
    }
    std::ranges::sort(
        group, {}, [](Cells::iterator cell) -> const CellName& { return cell->first; });
    return group;
}

// The breaker allows a probe after a while, which may still be within the time of the tick.
void Publisher::await_breaker(Time now) {
    wake_at_ = now + kBreakerLook;
    if (wake_at_ >= *tick_began_ + interval_) end_tick(now);
}

void Publisher::answered(const std::optional<StoreFailure>& failure,
                         std::uint64_t connection,
                         Time now) {
    is_underway_ = false;
    const bool is_refused =
        failure && failure->kind == StoreFailure::Kind::kRows && !chunk_.empty();
    if (is_refused && chunk_.size() == 1) ++refused_in_tick_;
    const bool is_all_refused = is_refused && !has_accepted_ && refused_in_tick_ >= kMostRefused;
    std::optional<StoreFailure> reported = failure;
    if (is_all_refused) reported->kind = StoreFailure::Kind::kRefused;
    breaker_.ended(
        StoreUse::kPublish, {.began = call_began_, .ended = now}, reported ? &*reported : nullptr);
    const bool has_reconnected = std::exchange(connection_, connection) != connection;
    if (failure) failed_.fetch_add(1, std::memory_order_relaxed);
    if (!failure) acknowledge_chunk();
    if (is_refused) split_chunk(*failure);
    is_republish_uncounted_ |= has_reconnected && republish(now, connection);
    if (!failure && std::exchange(is_republish_uncounted_, false))
        republishes_.fetch_add(1, std::memory_order_relaxed);
    const bool goes_on = !failure || is_refused;
    if (!goes_on) postpone_chunk(failure->kind);
    failures_ = goes_on ? 0 : failures_ + 1;
    wake_at_ = goes_on ? now : retry_time(now);
    const bool is_done = goes_on && waiting_.empty() && refused_.empty();
    const bool is_late = failure && wake_at_ >= *tick_began_ + interval_;
    const bool is_hopeless = reported && reported->kind == StoreFailure::Kind::kRefused;
    if (is_done || is_late || is_hopeless || may_end(now)) end_tick(now);
}

// Failed rows may follow; a late tick does not retry them either.
bool Publisher::may_end(Time now) const {
    return now >= *tick_began_ + interval_ && !waiting_.empty() &&
           waiting_.back()->second.is_repeat();
}

void Publisher::acknowledge_chunk() {
    needs_round_trip_ = false;
    if (chunk_.empty()) return;
    rows_.fetch_add(chunk_.size(), std::memory_order_relaxed);
    chunks_.fetch_add(1, std::memory_order_relaxed);
    has_accepted_ = true;
    for (std::size_t i = 0; i < chunk_.size(); ++i) {
        Cell& cell = chunk_cells_[i]->second;
        cell.last_pushed = std::max(cell.last_pushed, chunk_[i].count);
        cell.connection = connection_;
        cell.is_waiting = false;
        cell.failures = 0;
    }
    drop_chunk();
}

// Busy: one row may be locked, so these rows come last, in smaller chunks. Lost: says nothing about
// the rows, so only rows that are as urgent come before them.
void Publisher::postpone_chunk(StoreFailure::Kind kind) {
    const int step = kind == StoreFailure::Kind::kBusy ? 1 : 0;
    for (const Cells::iterator cell : chunk_cells_) {
        int& failures = cell->second.failures;
        failures = std::clamp(failures + step, 1, kMostHalvings + 1);
    }
    const auto is_repeat = [](Cells::iterator cell) { return cell->second.is_repeat(); };
    const bool is_urgent = step == 0 && !std::ranges::all_of(chunk_cells_, is_repeat);
    const auto place = is_urgent ? std::ranges::find_if_not(waiting_, is_repeat) : waiting_.begin();
    waiting_.insert(place, chunk_cells_.rbegin(), chunk_cells_.rend());
    drop_chunk();
}

void Publisher::split_chunk(const StoreFailure& failure) {
    if (chunk_cells_.size() == 1) {
        auto& [name, cell] = *chunk_cells_.front();
        cell.refused = cell.wanted;
        cell.wanted = cell.last_pushed;
        cell.is_waiting = false;
        refused_rows_.fetch_add(1, std::memory_order_relaxed);
        refusal_ = Refusal{.cell = name, .why = failure.why};
    } else {
        const auto half =
            chunk_cells_.begin() + static_cast<std::ptrdiff_t>(chunk_cells_.size() / 2);
        refused_.emplace_back(half, chunk_cells_.end());
        refused_.emplace_back(chunk_cells_.begin(), half);
    }
    drop_chunk();
}

void Publisher::drop_chunk() {
    chunk_.clear();
    chunk_cells_.clear();
}

// Rows that still wait are part of the next tick.
void Publisher::end_tick(Time now) {
    refused_.push_back(std::exchange(chunk_cells_, {}));
    for (const Group& group : std::exchange(refused_, {}))
        waiting_.insert(waiting_.end(), group.begin(), group.end());
    drop_chunk();
    failures_ = 0;
    has_accepted_ = false;
    refused_in_tick_ = 0;
    tick_began_.reset();
    if (waiting_.empty()) {
        last_success_.store(now, std::memory_order_relaxed);
        waiting_since_.store(Time::max(), std::memory_order_relaxed);
    }
    schedule_.finish(now);
    wake_at_ = schedule_.next();
}

// A chunk that waits for its retry is part of the new tick.
void Publisher::tick_now(Time now) {
    if (is_underway_) return;
    if (tick_began_) end_tick(now);
    is_extra_tick_ = true;
    wake_at_ = now;
}

Publisher::Time Publisher::retry_time(Time now) {
    const milliseconds most = kFirstRetry * (1 << std::min(failures_ - 1, kMostDoublings));
    return now + jitter_.up_to(most);
}

Publisher::Counts Publisher::counts() const {
    const auto read = [](const Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    const Time success = last_success_.load(std::memory_order_relaxed);
    const Time waiting = waiting_since_.load(std::memory_order_relaxed);
    return {.rows = read(rows_),
            .chunks = read(chunks_),
            .failures = read(failed_),
            .given_up = read(given_up_),
            .refused = read(refused_rows_),
            .republishes = read(republishes_),
            .forgotten = read(forgotten_),
            .last_success = success == Time::min() ? std::nullopt : std::optional(success),
            .waiting_since = waiting == Time::max() ? std::nullopt : std::optional(waiting)};
}

}  // namespace sluice
