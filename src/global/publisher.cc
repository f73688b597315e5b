#include "global/publisher.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "counter/epoch.h"
#include "global/stored_name.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

// The delay between a failed chunk and its retry; it doubles with each failure.
constexpr milliseconds kFirstRetry{50};
constexpr int kMostDoublings = 6;

// How many ticks count the regions at the start.
constexpr int kEarlyTicks = 2;

// How often an open breaker is checked.
constexpr milliseconds kBreakerPoll{500};

Request request_for(const Entry::Key& key) {
    return {.workspace = key.workspace,
            .name_space = key.name_space,
            .identifier = key.identifier,
            .duration = key.duration};
}

}  // namespace

Publisher::Publisher(Table& table,
                     PublishQueue& queue,
                     ComponentTable& components,
                     const PublishQueue::Regions& regions,
                     StoreBreaker& breaker,
                     const Config& config,
                     Time now)
    : table_(table),
      publish_queue_(queue),
      components_(components),
      regions_(regions),
      breaker_(breaker),
      policy_(config.policy),
      interval_(config.interval),
      most_cells_(config.most_cells),
      schedule_(config.interval, now, config.seed),
      wake_at_(now),
      jitter_(config.seed) {}

Publisher::Time Publisher::wake_at() const {
    if (tick_began_ || !publish_queue_.is_urged()) return wake_at_;
    return std::min(wake_at_, last_began_ + kUrgedInterval);
}

std::optional<Publisher::Call> Publisher::next(Time now, std::optional<UnixTime> wall) {
    if (is_underway_ || now < wake_at()) return std::nullopt;
    if (!tick_began_) begin_tick(now, wall);
    if (chunk_.empty() && !needs_round_trip_) fill_chunk(wall);
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
    return Call{.kind = is_reading_ ? Call::Kind::kRead : Call::Kind::kPublish, .rows = chunk_};
}

void Publisher::begin_tick(Time now, std::optional<UnixTime> wall) {
    if (tick_ == Tick::kRegular && now < wake_at_) tick_ = Tick::kUrged;
    tick_began_ = last_began_ = now;
    const std::vector<PublishCandidate> candidates = publish_queue_.take();
    UnixTime time = wall.value_or(UnixTime::min());
    if (!wall) {
        for (const PublishCandidate& candidate : candidates)
            time = std::max(time, candidate.counts.as_of);
    }
    forget_dead(time);
    for (const PublishCandidate& candidate : candidates)
        collect(candidate, wall);
    if (tick_ == Tick::kRegular) ++ticks_;
    select();
    make_room();
    for (const Cells::iterator it : chunk_cells_)
        chunk_.push_back({.cell = it->first, .count = it->second.wanted});
    is_reading_ = !chunk_.empty();
    if (tick_ == Tick::kRegular && ticks_ % kRepublishEvery == 0) {
        republish(now, std::nullopt);
    } else {
        sort_waiting(now);
    }
    needs_round_trip_ = tick_ == Tick::kRegular || tick_ == Tick::kEarly;
}

// An urged tick considers what has changed since the last tick, the others all cells.
void Publisher::select() {
    Group candidates = std::exchange(collected_, {});
    if (tick_ != Tick::kUrged) {
        candidates.clear();
        for (auto it = cells_.begin(); it != cells_.end(); ++it)
            if (!it->second.is_repeat()) candidates.push_back(it);
    }
    const bool is_announced = tick_ == Tick::kRegular && publish_queue_.is_bus_live();
    for (const Cells::iterator it : candidates) {
        if (it->second.is_waiting || !is_due(*it)) continue;
        const bool can_wait = tick_ != Tick::kLast &&
                              (is_announced || !it->second.use.has_foreign) &&
                              chunk_cells_.size() < kChunkRows;
        if (can_wait) {
            it->second.is_waiting = true;
            chunk_cells_.push_back(it);
        } else {
            wait_for(it);
        }
    }
}

void Publisher::wait_for(Cells::iterator cell) {
    cell->second.is_waiting = true;
    waiting_.push_back(cell);
}

bool Publisher::is_due(const Cells::value_type& held) const {
    const auto& [name, cell] = held;
    const ComponentSums sums = components_.sums(cell.id, name.sequence);
    CellUse use = cell.use;
    use.regional = cell.wanted;
    use.has_foreign |= sums.foreign != 0;
    use.last_pushed = std::max(cell.last_pushed, sums.own);
    use.is_still = tick_ == Tick::kLast || cell.grown_in + 1 < ticks_;
    const PublishTime time = policy_(use);
    // What is urgent was announced, if there is a bus: then one node of the region publishes the
    // cell in each interval.
    const bool is_fresh =
        tick_ == Tick::kRegular && !use.is_still && *tick_began_ < sums.own_at + interval_ * 3 / 4;
    if (time == PublishTime::kNow) return !(is_fresh && publish_queue_.is_bus_live());
    return time == PublishTime::kWithTick && tick_ != Tick::kUrged;
}

// Publishes what has been read, unless another node has done so.
void Publisher::publish_read(Time now) {
    is_reading_ = false;
    for (const Cells::iterator it : chunk_cells_) {
        it->second.is_waiting = false;
        if (is_due(*it)) wait_for(it);
    }
    drop_chunk();
    sort_waiting(now);
}

bool Publisher::republish(Time now, std::optional<std::uint64_t> current_connection) {
    bool has_any = false;
    for (auto it = cells_.begin(); it != cells_.end(); ++it) {
        Cell& cell = it->second;
        const bool is_published =
            cell.last_pushed != 0 || components_.sums(cell.id, it->first.sequence).own != 0;
        if (!is_published || cell.connection == current_connection) continue;
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
    const auto is_given_up = [](Cells::iterator cell) { return !cell->second.is_waiting; };
    std::erase_if(waiting_, is_given_up);
    std::erase_if(chunk_cells_, is_given_up);
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

void Publisher::want(CellName cell,
                     const RegionalCounts& counts,
                     const RegionalCounts::Cell& counted) {
    auto it = cells_.lower_bound(cell);
    if (it == cells_.end() || it->first != cell) {
        const UnixTime dies = start_of(cell.sequence + 2, cell.duration);
        const StoredKeyId id = stored_key_id(cell);
        it = cells_.try_emplace(it, std::move(cell));
        it->second.id = id;
        deaths_.emplace(dies, it);
    }
    Cell& held = it->second;
    CellUse use = counts.use_of(counted, regions_.load(std::memory_order_relaxed));
    if (counts.limit == 0 && held.use.limit != 0) use.limit = held.use.limit;
    held.use = use;
    collected_.push_back(it);
    if (counted.regional <= std::max(held.wanted, held.refused)) return;
    held.wanted = counted.regional;
    held.grown_in = ticks_;
}

bool Publisher::is_useless(const CellName& cell, UnixTime now) const {
    return is_dead(cell.sequence, cell.duration, now + interval_);
}

bool Publisher::give_up_if_useless(Cells::iterator waiting, UnixTime now) {
    auto& [name, cell] = *waiting;
    if (!is_useless(name, now)) return false;
    if (cell.wanted > cell.last_pushed) given_up_.fetch_add(1, std::memory_order_relaxed);
    cell.wanted = cell.last_pushed;
    cell.is_waiting = false;
    return true;
}

// The breaker allows a probe after a while, which may still be within the time of the tick.
void Publisher::await_breaker(Time now) {
    wake_at_ = now + kBreakerPoll;
    if (wake_at_ >= *tick_began_ + interval_) end_tick(now);
}

void Publisher::answered(const std::optional<StoreFailure>& failure,
                         std::uint64_t connection,
                         Time now) {
    is_underway_ = false;
    const bool was_read = is_reading_;
    const bool is_refused =
        failure && failure->kind == StoreFailure::Kind::kRows && !chunk_.empty() && !was_read;
    if (is_refused && chunk_.size() == 1) ++refused_in_tick_;
    const bool is_all_refused = is_refused && !has_accepted_ && refused_in_tick_ >= kMostRefused;
    std::optional<StoreFailure> reported = failure;
    if (is_all_refused) reported->kind = StoreFailure::Kind::kRefused;
    breaker_.ended(
        StoreUse::kPublish, {.began = call_began_, .ended = now}, reported ? &*reported : nullptr);
    const bool has_reconnected = std::exchange(connection_, connection) != connection;
    if (failure) failed_.fetch_add(1, std::memory_order_relaxed);
    if (was_read)
        publish_read(now);  // a failed one, too: that shows nothing
    else if (!failure)
        acknowledge_chunk(now);
    if (is_refused) split_chunk(*failure);
    is_republish_uncounted_ |= has_reconnected && republish(now, connection);
    if (!failure && std::exchange(is_republish_uncounted_, false))
        republishes_.fetch_add(1, std::memory_order_relaxed);
    const bool goes_on = !failure || is_refused;
    if (!goes_on) postpone_chunk(failure->kind);
    failures_ = goes_on ? 0 : failures_ + 1;
    wake_at_ = goes_on ? now : retry_time(now);
    const bool is_done = goes_on && !needs_round_trip_ && waiting_.empty() && refused_.empty();
    const bool is_late = failure && wake_at_ >= *tick_began_ + interval_;
    const bool is_hopeless = reported && reported->kind == StoreFailure::Kind::kRefused;
    if (is_done || is_late || is_hopeless || may_end(now)) end_tick(now);
}

// Failed rows may follow; a late tick does not retry them either.
bool Publisher::may_end(Time now) const {
    return now >= *tick_began_ + interval_ && !waiting_.empty() &&
           waiting_.back()->second.is_repeat();
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
    if (tick_ == Tick::kRegular) schedule_.finish(now);
    early_ticks_ = std::min(early_ticks_ + 1, kEarlyTicks);
    tick_ = early_ticks_ < kEarlyTicks ? Tick::kEarly : Tick::kRegular;
    wake_at_ = tick_ == Tick::kEarly ? last_began_ + kUrgedInterval : schedule_.next();
}

// A chunk that waits for its retry is part of the new tick.
void Publisher::tick_now(Time now) {
    if (is_underway_) return;
    if (tick_began_) end_tick(now);
    tick_ = Tick::kLast;
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
