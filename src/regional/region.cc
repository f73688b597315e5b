// Region: stepping, availability of the origin, heartbeats, shutdown. Flushing is in
// region_flush.cc, requests that the origin decides are in region_spend.cc.
#include "regional/region.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

using std::chrono::milliseconds;

// Between two heartbeats. A loss of data is noticed by one, and until then a node that does not
// hold a key may pass what others have spent.
constexpr milliseconds kHeartbeat{250};
// How long a count of nodes is relied on. A node that joins lets the origin decide everything for
// as long, so that by then every other node has counted it.
constexpr milliseconds kCountLifetime{3'000};

// How often the changed list is read while keys are queued for a flush.
constexpr milliseconds kCollect{15};
// How often keys that can't be written are checked for counts that don't matter any more.
constexpr milliseconds kTidy{5'000};
// Buckets per step while everything is written again.
constexpr std::size_t kBucketsPerStep = 256;

// A larger difference between the clocks is reported.
constexpr milliseconds kMaxClockOffset{1'000};

constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

std::int64_t in_ms(Region::Time time) {
    return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

Region::Region(Table& table, Origin& origin, Config config)
    : table_(table),
      origin_(origin),
      config_(std::move(config)),
      queue_(table, failing_keys_, config_.counted),
      jitter_(config_.seed),
      oldest_since_ms_(kNothing) {
    table_.changed().set_wake(config_.again);
}

void Region::start() {
    origin_.start({.available =
                       [this](bool is_intact) {
                           is_connected_ = true;
                           refused_.clear();
                           breaker_.reset();
                           failures_ = 0;
                           not_before_ = retry_at_ = heartbeat_at_ = Time::min();
                           catch_up();
                           if (!is_intact) resubmit_everything();
                           update_availability();
                           config_.again();
                       },
                   .unavailable =
                       [this](const std::string& why) {
                           is_connected_ = false;
                           disconnected_ = why;
                           update_availability();
                           config_.again();
                       },
                   .data_lost =
                       [this] {
                           resubmit_everything();
                           config_.again();
                       },
                   .write_refused =
                       [this](const std::string& why) {
                           refused_ = why;
                           update_availability();
                           config_.again();
                       }});
}

void Region::resubmit_everything() {
    walk_ = Table::Walk{};
    // The origin may have lost the heartbeats as well: wait as a node that joins does.
    if (joined_at_) joined_at_ = config_.clock();
    update_nodes(config_.clock());
    resubmissions_.fetch_add(1, std::memory_order_relaxed);
}

// Reports a change of availability, and a change of the reason.
void Region::update_availability() {
    std::string why;
    bool unavailable = true;
    if (!is_connected_) {
        why = disconnected_;
    } else if (!refused_.empty()) {
        why = "it refuses writes; " + refused_;
    } else if (breaker_.state(config_.clock()) != Breaker::State::kClosed) {
        why = "too many calls go unanswered";
    } else {
        unavailable = false;
    }
    const bool has_changed = unavailable != is_unavailable();
    if (!has_changed && why == reported_) return;
    is_unavailable_.store(unavailable, std::memory_order_relaxed);
    if (has_changed && unavailable) outages_.fetch_add(1, std::memory_order_relaxed);
    if (has_changed) catch_up();
    // Before the first connection there is nothing to report but the reason.
    if (unavailable && why.empty()) return;
    reported_ = why;
    config_.changed(unavailable, reported_);
}

void Region::step() {
    const Time now = config_.clock();
    update_availability();
    if (is_connected_ && now >= heartbeat_at_) send_heartbeat();
    update_nodes(now);
    apply_new_views();
    send_spends(now);
    if (walk_) catch_up();
    if (walk_ && table_.list_again(*walk_, kBucketsPerStep)) walk_.reset();
    queue_.collect(now);
    if (catching_up_to_ && !walk_ && !queue_.has_queued_by(*catching_up_to_))
        catching_up_to_.reset();
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
    if (is_connected_ && !is_heartbeat_underway_) wake(heartbeat_at_);
    if (table_.nodes() != kUnknownNodes) wake(*counted_at_ + kCountLifetime);
    if (!ready_.empty() && !awaits_first_heartbeat()) wake(spends_sent_at_ + kCollectSpends);
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
    is_settled_ = spends_by_key_.empty() && syncs_underway_ == 0;
}

// Heartbeats detect that the origin works again, so they bypass the breaker.
void Region::send_heartbeat() {
    const Time began = config_.clock();
    heartbeat_at_ = began + kHeartbeat;
    if (std::exchange(is_heartbeat_underway_, true)) return;
    origin_.heartbeat([this, began](const HeartbeatAnswer& answer) {
        is_heartbeat_underway_ = false;
        record(began, 1, answer ? 0 : 1);
        if (answer) on_heartbeat(began, *answer);
        update_availability();
        config_.again();
    });
}

void Region::on_heartbeat(Time began, const Heartbeat& answer) {
    const Time now = config_.clock();
    refused_.clear();
    if (breaker_.state(now) != Breaker::State::kClosed) breaker_.reset();
    // The answer with `has_joined` may have been lost.
    const bool is_count_outdated = !counted_at_ || now >= *counted_at_ + kCountLifetime;
    if (answer.has_joined || is_count_outdated) joined_at_ = now;
    quickest_heartbeat_.note(now - began);
    use_count(answer.nodes, began);
    counted_at_ = began;
    update_nodes(now);
    clock_offset_ms_.store(answer.clock_offset.count(), std::memory_order_relaxed);
    const bool is_off = std::chrono::abs(answer.clock_offset) > kMaxClockOffset;
    const bool was_off = std::exchange(is_clock_off_, is_off);
    if (is_off && !was_off && config_.clock_offset) config_.clock_offset(answer.clock_offset);
}

// A lower count is used after kCountLifetime: by then an origin that has lost the heartbeats has
// counted all nodes again. It may lose them while an earlier, rightly lower count waits, so the
// highest of the lower counts is used.
void Region::use_count(NodeCount nodes, Time began) {
    if (nodes < nodes_ && lower_count_ && began >= lower_count_->since + kCountLifetime)
        nodes_ = std::max(std::exchange(lower_count_, std::nullopt)->most, nodes);
    if (nodes < nodes_) {
        if (!lower_count_) lower_count_ = LowerCount{.since = config_.clock(), .most = nodes};
        lower_count_->most = std::max(lower_count_->most, nodes);
    } else {
        nodes_ = nodes;
        lower_count_.reset();
    }
}

void Region::update_nodes(Time now) {
    const bool is_known =
        counted_at_ && now < *counted_at_ + kCountLifetime && now >= *joined_at_ + kCountLifetime;
    table_.set_nodes(is_known ? std::max<NodeCount>(nodes_, 1) : kUnknownNodes);
}

// A call has failed if most of its keys were not answered: one server of a cluster may be
// unavailable while the others work. A call that fails at once was not sent, since its server is
// known to be unavailable; while other calls are answered, it says nothing about them.
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

void Region::begin_stop() {
    is_stopping_ = true;
    is_settled_ = false;
    config_.again();
}

Region::Time Region::note_key_error(std::uint64_t hash, const std::string& error) {
    key_errors_.fetch_add(1, std::memory_order_relaxed);
    if (!failing_keys_.is_failing(hash) && config_.key_failed) config_.key_failed(error);
    return failing_keys_.failed(hash, config_.clock());
}

OriginStats Region::stats() const {
    const auto read = [](const Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    const std::int64_t since = oldest_since_ms_.load(std::memory_order_relaxed);
    const std::int64_t age = since == kNothing ? 0 : in_ms(config_.clock()) - since;
    return {.attached = true,
            .unavailable = is_unavailable(),
            .nodes = table_.nodes(),
            .spends = read(spends_),
            .spend_calls = read(spend_calls_),
            .flushed = read(flushed_),
            .unanswered = read(unanswered_),
            .fallbacks = 0,
            .queue_overflows = 0,
            .outages = read(outages_),
            .resubmissions = read(resubmissions_),
            .key_errors = read(key_errors_),
            .oldest_unsynced = milliseconds{std::max<std::int64_t>(age, 0)},
            .clock_offset = milliseconds{clock_offset_ms_.load(std::memory_order_relaxed)}};
}

}  // namespace sluice
