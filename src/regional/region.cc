#include "regional/region.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "counter/epoch.h"
#include "window/sharing.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

// Between two heartbeats, and while the origin is unavailable.
constexpr milliseconds kHeartbeat{1'000};
constexpr milliseconds kProbe{500};
// How long a count of nodes is relied on. A node that joins lets the origin decide everything for
// as long, so that by then every other node has counted it.
constexpr milliseconds kCountLifetime{3'000};

// While keys wait, the changed list is looked at so often.
constexpr milliseconds kCollect{15};

constexpr milliseconds kLongestPause{100};

// Between a flush that failed and the next one.
constexpr milliseconds kFirstRetry{50};
constexpr milliseconds kLastRetry{2'000};
// Keys of it in the next one.
constexpr std::size_t kFirstRetries = 16;

// How often keys that can't be written are checked for counts that don't matter any more.
constexpr milliseconds kTidy{5'000};

// Buckets that are looked through in one step while everything is written again.
constexpr std::size_t kBucketsPerStep = 256;

// Keys in one call, so that none waits for a long one.
constexpr std::size_t kKeysPerCall = 256;
// Requests of one key in one call; the rest waits for the next.
constexpr std::size_t kRequestsPerCall = 256;

// Requests that wait for a key, beyond the call that is underway. Further ones would be decided
// after their deadlines.
constexpr std::size_t kMostWaiting = 4 * kRequestsPerCall;

// A larger difference between the clocks is reported.
constexpr milliseconds kMaxClockOffset{1'000};

// A call that fails within this time was not sent.
constexpr milliseconds kNotSent{5};

// Shorter windows expire at the origin soon enough by themselves.
constexpr Duration kShortestRetired{60'000};

constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

std::int64_t in_ms(Region::Time time) {
    return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

template <class Answer>
std::size_t count_missing(const std::vector<Answer>& answers) {
    return static_cast<std::size_t>(
        std::ranges::count_if(answers, [](const Answer& answer) { return !answer.has_value(); }));
}

Request request_of(const CellName& cell) {
    return {.workspace = cell.workspace,
            .name_space = cell.name_space,
            .identifier = cell.identifier,
            .limit = 0,
            .duration = cell.duration};
}

CellName cell_of(const Request& request, Sequence sequence) {
    return {.workspace = std::string(request.workspace),
            .name_space = std::string(request.name_space),
            .identifier = std::string(request.identifier),
            .duration = request.duration,
            .sequence = sequence};
}

}  // namespace

Region::Region(Table& table, Origin& origin, Config config)
    : table_(table),
      origin_(origin),
      config_(std::move(config)),
      queue_(table, config_.counted),
      jitter_(config_.seed),
      oldest_since_ms_(kNothing) {
    table_.changed().set_wake(config_.again);
}

void Region::start() {
    origin_.start(events());
}

OriginEvents Region::events() {
    return {.available =
                [this](bool is_intact) {
                    is_connected_ = true;
                    refused_.clear();
                    breaker_.reset();
                    failures_ = 0;
                    not_before_ = retry_at_ = beat_at_ = Time::min();
                    is_catching_up_ = true;
                    if (!is_intact) write_everything_again();
                    judge();
                    config_.again();
                },
            .unavailable =
                [this](const std::string& why) {
                    is_connected_ = false;
                    why_ = why;
                    judge();
                    config_.again();
                },
            .data_lost =
                [this] {
                    write_everything_again();
                    config_.again();
                },
            .write_refused =
                [this](const std::string& why) {
                    refused_ = why;
                    judge();
                    config_.again();
                }};
}

void Region::write_everything_again() {
    walk_ = Table::Walk{};
    is_catching_up_ = true;
    // The heartbeats may be lost, too: as for a node that joins.
    if (joined_at_) joined_at_ = config_.clock();
    update_nodes(config_.clock());
    resubmissions_.fetch_add(1, std::memory_order_relaxed);
}

// Reports a change of availability, and a change of the reason.
void Region::judge() {
    const bool is_open = breaker_.state(config_.clock()) != Breaker::State::kClosed;
    std::string why;
    if (!is_connected_) {
        why = why_;
    } else if (!refused_.empty()) {
        why = "it refuses writes; " + refused_;
    } else if (is_open) {
        why = "too many calls go unanswered";
    }
    const bool unavailable = !is_connected_ || !refused_.empty() || is_open;
    const bool is_news = unavailable != is_unavailable();
    if (!is_news && (!unavailable || why == told_)) return;
    is_unavailable_.store(unavailable, std::memory_order_relaxed);
    if (is_news && unavailable) outages_.fetch_add(1, std::memory_order_relaxed);
    if (is_news) is_catching_up_ = true;
    // Before the first connection there is nothing to report but the reason.
    if (unavailable && why.empty()) return;
    told_ = unavailable ? why : std::string();
    config_.changed(unavailable, told_);
}

void Region::step() {
    const Time now = config_.clock();
    judge();
    if (is_connected_ && now >= beat_at_) beat();
    update_nodes(now);
    note_views();
    send_spends();
    if (walk_ && table_.list_again(*walk_, kBucketsPerStep, UnixTime::min())) walk_.reset();
    queue_.collect(now);
    if (!is_unavailable()) {
        flush(now);
    } else if (now >= tidy_at_) {
        tidy_at_ = now + kTidy;
        queue_.tidy();
    }
    const auto lag = queue_.lag(now);
    oldest_since_ms_.store(lag == lag.zero() ? kNothing : in_ms(now - lag),
                           std::memory_order_relaxed);
    set_wake(now);
}

void Region::set_wake(Time now) {
    wake_at_.reset();
    const auto wake = [this](Time at) { wake_at_ = wake_at_ ? std::min(*wake_at_, at) : at; };
    if (is_connected_ && !is_beating_) wake(beat_at_);
    if (table_.nodes() != kUnknownNodes) wake(*counted_at_ + kCountLifetime);
    is_settled_ = false;
    if (is_unavailable()) {
        wake(tidy_at_);
        is_settled_ = queue_.is_empty() && !walk_;
        return;
    }
    if (walk_) return config_.again();
    if (const auto due = queue_.due(); due && !queue_.is_underway())
        wake(std::max(*due, not_before_));
    if (!queue_.is_empty()) return wake(now + kCollect);
    if (!table_.changed().sleep()) return config_.again();
    is_settled_ = !advance_stop();
}

// Once everything was flushed after begin_stop(), goes through the table to retire the components.
// True if there is more to do.
bool Region::advance_stop() {
    if (stage_ != Stage::kFlushing) return false;
    if (!waiting_.empty() || syncs_underway_ != 0) return true;
    stage_ = Stage::kRetiring;
    walk_ = Table::Walk{};
    config_.again();
    return true;
}

void Region::begin_stop() {
    if (stage_ == Stage::kRunning) stage_ = Stage::kFlushing;
    is_settled_ = false;
    config_.again();
}

// Heartbeats find out whether the origin works again, so they go past the breaker.
void Region::beat() {
    const Time began = config_.clock();
    beat_at_ = began + (is_unavailable() ? kProbe : kHeartbeat);
    if (std::exchange(is_beating_, true)) return;
    origin_.heartbeat([this, began](const HeartbeatAnswer& answer) { on_beat(began, answer); });
}

void Region::on_beat(Time began, const HeartbeatAnswer& answer) {
    is_beating_ = false;
    record(began, 1, answer ? 0 : 1);
    if (answer) {
        const Time now = config_.clock();
        refused_.clear();
        if (breaker_.state(now) != Breaker::State::kClosed) breaker_.reset();
        // The answer that said so may have been lost.
        const bool was_unavailable = !counted_at_ || now >= *counted_at_ + kCountLifetime;
        if (answer->has_joined || was_unavailable) joined_at_ = now;
        // An origin that has lost the heartbeats counts all nodes again within that time, from the
        // first count that was lower.
        const bool is_lower = answer->nodes < nodes_;
        if (is_lower && !fewer_since_) fewer_since_ = now;
        if (!is_lower || began >= *fewer_since_ + kCountLifetime) {
            nodes_ = answer->nodes;
            fewer_since_.reset();
        }
        counted_at_ = began;
        update_nodes(now);
        note_clock_offset(answer->clock_offset);
    }
    judge();
    config_.again();
}

void Region::note_clock_offset(milliseconds offset) {
    clock_offset_ms_.store(offset.count(), std::memory_order_relaxed);
    const bool is_off = std::chrono::abs(offset) > kMaxClockOffset;
    if (is_off && !is_clock_off_ && config_.clock_offset) config_.clock_offset(offset);
    is_clock_off_ = is_off;
}

void Region::update_nodes(Time now) {
    const bool is_known =
        counted_at_ && now < *counted_at_ + kCountLifetime && now >= *joined_at_ + kCountLifetime;
    table_.set_nodes(is_known ? std::max<NodeCount>(nodes_, 1) : kUnknownNodes);
}

FlushQueue::Scope Region::scope(Time now) {
    if (stage_ != Stage::kRunning || table_.changed().take_flush_request())
        return FlushQueue::Scope::kAll;
    return now < not_before_ ? FlushQueue::Scope::kUrgent : FlushQueue::Scope::kDue;
}

void Region::flush(Time now) {
    if (queue_.is_underway()) return;
    if (now >= retry_at_) queue_.retry(retries_);
    std::vector<KeyComponents> batch = queue_.next(now, scope(now));
    if (!batch.empty()) send_flush(std::move(batch), now);
}

void Region::send_flush(std::vector<KeyComponents> batch, Time began) {
    auto flushed = [this, began](const std::vector<KeyAnswer>& answers) {
        on_flushed(began, answers);
    };
    if (stage_ != Stage::kRetiring) return origin_.sync(std::move(batch), std::move(flushed));
    // An answer for each is needed, also for those that are not worth the call.
    const auto is_short = [](const KeyComponents& key) {
        return key.current.duration < kShortestRetired;
    };
    if (std::ranges::all_of(batch, is_short))
        return flushed(std::vector<KeyAnswer>(batch.size(), KeyTotals{}));
    // The totals are of no use any more: by them, this node's own counts are a stopped node's.
    origin_.retire(std::move(batch), [flushed](std::vector<KeyAnswer> answers) {
        for (KeyAnswer& answer : answers)
            if (answer) answer = KeyTotals{};
        flushed(answers);
    });
}

// What was not answered waits for a while, and comes back a few keys at a time until those are
// answered: one server of a cluster may be unavailable. The rest goes on.
void Region::on_flushed(Time began, std::span<const KeyAnswer> answers) {
    const Time now = config_.clock();
    const auto missing = static_cast<std::size_t>(
        std::ranges::count_if(answers, [](const KeyAnswer& answer) { return !answer; }));
    record(began, answers.size(), missing);
    flushed_.fetch_add(answers.size() - missing, std::memory_order_relaxed);
    queue_.answered(answers);
    if (is_catching_up_ && queue_.lag(now) < kFlushWithin) is_catching_up_ = false;
    failures_ = missing == 0 ? 0 : failures_ + 1;
    if (missing == 0) {
        retries_ = std::min(2 * retries_, kKeysPerCall);
        note_flush(now - began, answers.size());
    } else {
        retries_ = kFirstRetries;
        retry_at_ = retry_time();
    }
    not_before_ = now + pause_after(now - began, answers.size(), missing);
    config_.again();
}

// What the origin has to do for a flush is estimated from the quickest of late, key by key: the
// rest of the time it, or this thread, waits for a processor.
void Region::note_flush(Time::duration took, std::size_t keys) {
    const auto each = took / static_cast<std::int64_t>(keys);
    const auto slower = quickest_flush_ + quickest_flush_ / 16 + std::chrono::nanoseconds{1};
    quickest_flush_ = quickest_flush_ == Time::duration::zero() ? each : std::min(each, slower);
}

// The origin works on flushes for a fifth of the time. A slow one must not stop the flow.
Region::Time::duration Region::pause_after(Time::duration took,
                                           std::size_t keys,
                                           std::size_t missing) const {
    if (missing == keys) return took < kNotSent ? Time::duration::zero() : kLongestPause;
    if (is_catching_up_) return {};
    const auto busy = static_cast<std::int64_t>(keys) * quickest_flush_;
    return std::clamp<Time::duration>(kFlushParts * busy - took, {}, kLongestPause);
}

Region::Time Region::retry_time() {
    const milliseconds delay = kFirstRetry * (1 << std::min(failures_ - 1, 6));
    return config_.clock() + jitter_.up_to(std::min(delay, kLastRetry));
}

// A call has failed if most of its keys were not answered for: one server of a cluster may be
// unavailable while the others work. A call that fails at once was not sent, since its server is
// known to be away; while other calls are answered, it says nothing about them.
void Region::record(Time began, std::size_t keys, std::size_t missing) {
    unanswered_.fetch_add(missing, std::memory_order_relaxed);
    const Breaker::Call call{.began = began, .ended = config_.clock()};
    if (missing < keys) answered_at_ = call.ended;
    const bool others_work = answered_at_ && call.ended < *answered_at_ + kCountLifetime;
    if (missing == keys && call.ended - began < kNotSent && others_work) return;
    if (2 * missing > keys) {
        breaker_.failed(call);
    } else {
        breaker_.succeeded(call);
    }
}

void Region::spend(const Request& request, UnixTime now, Decided decided) {
    if (has_given_up_ || is_unavailable() || stage_ == Stage::kRetiring)
        return decided(std::nullopt);
    const EpochPin pin;
    Instant at;
    table_.entry_for(table_.key(request), now, at);
    const auto key = waiting_.try_emplace(cell_of(request, at.sequence)).first;
    if (key->second.waiting.size() >= kMostWaiting) return decided(std::nullopt);
    key->second.waiting.push_back({.request = {.elapsed = at.elapsed,
                                               .ask = {.cost = static_cast<Count>(request.cost),
                                                       .limit = static_cast<Count>(request.limit)}},
                                   .now = now,
                                   .decided = std::move(decided)});
    if (!key->second.is_underway && key->second.waiting.size() == 1) ready_.push_back(key);
    config_.again();
}

void Region::send_spends() {
    std::vector<WaitingKeys::iterator> ready = std::exchange(ready_, {});
    // A call is answered when the slowest of its servers has answered.
    const std::size_t most = origin_.is_sharded() ? 1 : kKeysPerCall;
    while (!ready.empty()) {
        const std::size_t count = std::min(ready.size(), most);
        send_spends(std::span(ready).first(count));
        ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(count));
    }
}

void Region::send_spends(std::span<const WaitingKeys::iterator> ready) {
    std::vector<KeySpend> spends;
    auto calls = std::make_shared<std::vector<SpendCall>>();
    for (const auto& key : ready) {
        KeySpend spend;
        auto call = begin_spend(key, spend);
        if (!call) {
            ready_.push_back(key);
            continue;
        }
        calls->push_back(*std::move(call));
        spends.push_back(std::move(spend));
    }
    if (spends.empty()) return config_.again();
    const Time began = config_.clock();
    spend_calls_.fetch_add(spends.size(), std::memory_order_relaxed);
    origin_.spend(std::move(spends), [this, began, calls](std::vector<SpendAnswer> answers) {
        record(began, answers.size(), count_missing(answers));
        on_spent(*calls, std::move(answers));
        config_.again();
    });
}

// None if the entry is on its way out: what is spent in it meanwhile may be entered in its
// successor, and must not be written from both.
std::optional<Region::SpendCall> Region::begin_spend(WaitingKeys::iterator key, KeySpend& spend) {
    const auto& [cell, waiters] = *key;
    const EpochPin pin;
    Instant at;
    const Request request = request_of(cell);
    Entry& entry = table_.entry_for(table_.key(request), waiters.waiting.front().now, at);
    const EntrySync sync(entry, cell.sequence, waiters.waiting.front().now);
    if (!entry.stays()) {
        static_cast<void>(table_.changed().mark(entry));  // keeps it, unless it is gone
        return std::nullopt;
    }
    spend.components = sync.components(entry);
    for (std::size_t i = 0; i < 2; ++i) {
        const Sequence sequence = cell.sequence - static_cast<Sequence>(i);
        const Count admitted = entry.admitted(sequence).of(sequence);
        spend.peers[i] = entry.peers(sequence);
        spend.extra[i] = entry.global(sequence) + admitted - std::min(admitted, sync.own()[i]);
    }
    entry.suspend_view();
    SpendCall call{.key = key,
                   .waiters = {},
                   .sync = sync,
                   .most_at_origin = entry.most_at_origin(cell.sequence),
                   .resubmissions = resubmissions_.load(std::memory_order_relaxed)};
    auto& waiting = key->second.waiting;
    const std::size_t count = std::min(waiting.size(), kRequestsPerCall);
    call.waiters.assign(std::move_iterator(waiting.begin()),
                        std::move_iterator(waiting.begin() + static_cast<std::ptrdiff_t>(count)));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
    // Of a cell that the ring has left, this node's spend is not known any more: nothing is granted
    // in it, and the request is decided where the ring is now.
    const bool is_held = entry.admitted(cell.sequence).load().belongs_to(cell.sequence);
    Count asked = entry.credit(cell.sequence);
    for (const Waiter& waiter : call.waiters) {
        spend.requests.push_back(waiter.request);
        if (!is_held) spend.requests.back().ask.limit = 0;
        asked = saturating_add(asked, waiter.request.ask.cost);
    }
    entry.set_credit(cell.sequence, asked);
    key->second.is_underway = true;
    return call;
}

void Region::on_spent(std::vector<SpendCall>& calls, std::vector<SpendAnswer> answers) {
    if (has_given_up_) return;
    for (std::size_t i = 0; i < calls.size(); ++i)
        end_spend(calls[i], answers[i]);
}

// A callback may ask again for the same key: its call is over by then.
void Region::end_spend(SpendCall& call, const SpendAnswer& answer) {
    const CellName cell = call.key->first;
    call.key->second.is_underway = false;
    if (!call.key->second.waiting.empty()) {
        ready_.push_back(call.key);
    } else {
        waiting_.erase(call.key);
    }
    const EpochPin pin;
    Instant at;
    const Request request = request_of(cell);
    const auto entry = [&]() -> Entry& {
        return table_.entry_for(table_.key(request), call.waiters.back().now, at);
    };
    if (answer) {
        spends_.fetch_add(call.waiters.size(), std::memory_order_relaxed);
        call.sync.merge_peers(answer->totals, entry());
    }
    const Grant grant{.sequence = cell.sequence, .incarnation = call.sync.incarnation()};
    Count cost = 0;
    for (std::size_t i = 0; i < call.waiters.size(); ++i) {
        std::optional<OriginVerdict> verdict;
        if (answer) verdict = OriginVerdict{.granted = answer->granted[i], .grant = grant};
        if (answer && answer->granted[i]) cost += call.waiters[i].request.ask.cost;
        // The counts that it was denied by are not all known to a later entry of the key.
        if (verdict && !verdict->granted) verdict->try_locally = !call.sync.is_of(entry());
        call.waiters[i].decided(verdict);
    }
    Entry& granted = entry();
    if (call.sync.is_of(granted)) granted.resume_view();
    if (!answer) return;
    call.sync.note_synced(cost, granted);
    if (call.sync.is_of(granted)) {
        // An origin that holds less than it did has lost it, but peers may have read it before.
        const Count held = std::max(answer->totals[0].own, call.most_at_origin);
        const Count admitted = granted.admitted(cell.sequence).of(cell.sequence);
        granted.set_credit(cell.sequence, held - std::min(held, admitted));
    }
    note_view(granted, call, cell);
    // A flush of later passes that overtook the call looks like credit to it. And what the origin
    // granted it may have lost, after everything else was written again.
    if (granted.unsynced(cell.sequence) != 0 ||
        call.resubmissions != resubmissions_.load(std::memory_order_relaxed)) {
        granted.note_late();
        static_cast<void>(table_.changed().mark(granted));
        table_.changed().urge(granted);
    }
    if (config_.counted) config_.counted(granted);
}

// Whether this node's share is eight requests or more: then it goes on by itself, or a key that is
// asked for all the time would stay with the origin. With less, in a burst, the nodes' shares
// together would be what passes beyond the limit.
bool Region::has_ample_share(Entry& entry, const Waiter& last, Sequence sequence) const {
    const NodeCount nodes = table_.nodes();
    if (nodes <= 1) return nodes == 1;
    const Spent spent{.current = entry.spent(sequence), .previous = entry.spent(sequence - 1)};
    const Verdict left = weigh(spent,
                               last.request.elapsed,
                               entry.duration(),
                               {.cost = 0, .limit = last.request.ask.limit});
    return left.remaining >= kShareParts * kShareParts * nodes;
}

void Region::note_view(Entry& entry, const SpendCall& call, const CellName& cell) {
    if (!has_ample_share(entry, call.waiters.back(), cell.sequence)) {
        if (!waiting_.contains(cell)) new_views_.push_back({.cell = cell, .sync = call.sync});
        return;
    }
    call.sync.note_view(entry);
    const auto key = waiting_.find(cell);
    if (key == waiting_.end() || key->second.is_underway) return;
    const std::vector<Waiter> waiting = std::move(key->second.waiting);
    std::erase(ready_, key);
    waiting_.erase(key);
    for (const Waiter& waiter : waiting)
        waiter.decided(OriginVerdict{.granted = false, .grant = {}, .try_locally = true});
}

void Region::note_views() {
    if (new_views_.empty()) return;
    const EpochPin pin;
    for (const NewView& view : std::exchange(new_views_, {})) {
        if (waiting_.contains(view.cell)) continue;
        const Request request = request_of(view.cell);
        Entry* const entry = table_.find(table_.key(request));
        if (entry != nullptr) view.sync.note_view(*entry);
    }
}

void Region::sync(std::span<const Request> requests, UnixTime now, Synced synced) {
    if (has_given_up_ || is_unavailable() || stage_ == Stage::kRetiring) return synced(false);
    struct Key {
        CellName cell;
        EntrySync sync;
    };
    auto keys = std::make_shared<std::vector<Key>>();
    std::vector<KeyComponents> components;
    {
        const EpochPin pin;
        for (const Request& request : requests) {
            Instant at;
            Entry& entry = table_.entry_for(table_.key(request), now, at);
            const EntrySync sync(entry, at.sequence, now);
            KeyComponents key = sync.components(entry);
            if (!entry.stays()) {  // as in begin_spend(): only read
                key.own = {};
                entry.note_late();
            }
            keys->push_back({.cell = key.current, .sync = sync});
            components.push_back(std::move(key));
        }
    }
    if (components.empty()) return synced(true);
    const Time began = config_.clock();
    ++syncs_underway_;
    origin_.sync(
        std::move(components),
        [this, began, keys, now, synced = std::move(synced)](std::vector<KeyAnswer> answers) {
            --syncs_underway_;
            const std::size_t missing = count_missing(answers);
            record(began, answers.size(), missing);
            const EpochPin pin;
            for (std::size_t i = 0; i < answers.size(); ++i) {
                if (!answers[i]) continue;
                const Request request = request_of((*keys)[i].cell);
                Instant at;
                Entry& entry = table_.entry_for(table_.key(request), now, at);
                (*keys)[i].sync.merge(*answers[i], entry);
                if (config_.counted) config_.counted(entry);
            }
            synced(missing == 0);
            config_.again();
        });
}

void Region::give_up() {
    has_given_up_ = true;
    ready_.clear();
    for (auto& [cell, waiters] : std::exchange(waiting_, {}))
        for (const Waiter& waiter : waiters.waiting)
            waiter.decided(std::nullopt);
}

Region::Stats Region::stats() const {
    const auto read = [](const Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    const std::int64_t since = oldest_since_ms_.load(std::memory_order_relaxed);
    const std::int64_t age = since == kNothing ? 0 : in_ms(config_.clock()) - since;
    return {.spends = read(spends_),
            .spend_calls = read(spend_calls_),
            .flushed = read(flushed_),
            .unanswered = read(unanswered_),
            .outages = read(outages_),
            .resubmissions = read(resubmissions_),
            .nodes = table_.nodes(),
            .oldest_unsynced = milliseconds{std::max<std::int64_t>(age, 0)},
            .clock_offset = milliseconds{clock_offset_ms_.load(std::memory_order_relaxed)}};
}

}  // namespace sluice
