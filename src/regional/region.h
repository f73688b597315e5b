// The connection of a node to its region: flushes the node's counts to the origin, has the origin
// decide the requests that the node may not, and detects when the origin is unavailable.
#ifndef SLUICE_REGIONAL_REGION_H_
#define SLUICE_REGIONAL_REGION_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/jitter.h"
#include "breaker/breaker.h"
#include "counter/table.h"
#include "regional/entry_sync.h"
#include "regional/failing_keys.h"
#include "regional/flush_queue.h"
#include "regional/origin.h"

namespace sluice {

// How the origin decided a request.
struct OriginVerdict {
    // Its cost is in the origin's counts, and has to be entered in the entry. If not, the entry has
    // the counts by which it was denied, unless it has changed since: the caller decides by the
    // sharing rule, and calls spend() again where that leaves it to the origin.
    bool granted;
    Grant grant;  // where it was decided
};

// The origin is available while it is connected, the breaker over its calls is closed, and it
// accepts writes. While it is not, calls are answered at once without a value, and callers decide
// from local counts. It is probed by heartbeats, never by requests.
//
// A stepped object: no thread and no socket; its clock is given. Owned by one thread, except for
// is_unavailable() and stats(), which any thread may call. Its driver steps it after `again` was
// called, and at wake_at().
class Region {
  public:
    using Time = Breaker::Time;
    using Decided = std::function<void(std::optional<OriginVerdict>)>;
    using Synced = std::function<void(bool is_answered)>;

    struct Config {
        std::function<Time()> clock = std::chrono::steady_clock::now;
        std::uint64_t seed = 0;  // of the jitter
        // How long a request waits for spend(). After that its caller has decided it.
        std::chrono::milliseconds request_timeout{300};
        // Schedules a step; must not step from within the call. May be called by any thread.
        std::function<void()> again;
        // The regional count of an entry may have grown. May be empty.
        std::function<void(Entry&)> counted = {};
        // The origin has become unavailable or available. `why` is a message for the log.
        std::function<void(bool unavailable, const std::string& why)> changed;
        // The origin can't serve a key, for a reason that concerns no other one. Called once for a
        // key until it is served again. `why` is a message for the log. May be empty.
        std::function<void(const std::string& why)> key_failed = {};
        // The origin's clock has come to differ from this node's by more than a second. May be
        // empty.
        std::function<void(std::chrono::milliseconds offset)> clock_offset = {};
    };

    // The table and the origin must outlive the region.
    Region(Table& table, Origin& origin, Config config);
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    // Connects. Must be called once.
    void start();

    // Does all work that is due.
    void step();
    // When to step next if `again` is not called before; none if that is not needed.
    std::optional<Time> wake_at() const { return wake_at_; }

    bool is_unavailable() const { return is_unavailable_.load(std::memory_order_relaxed); }

    // Has the origin decide `request` at `now`, in one call with all requests that are queued for
    // its key. There is one call per key at a time. `decided` is called once, with no value if the
    // origin does not answer, and at once while it is unavailable. Requires a valid request.
    void spend(const Request& request, UnixTime now, Decided decided);

    // Writes and reads the counts of the keys of `requests` at `now`, in one round trip.
    void sync(std::span<const Request> requests, UnixTime now, Synced synced);

    // Flushes everything without delay. is_settled() becomes true after that.
    void begin_stop();
    bool is_settled() const { return is_settled_; }
    // Whether the last write was refused. The region may then not settle.
    bool refuses_writes() const { return !refused_.empty(); }

    // Answers all queued and later requests with no value.
    void give_up();

    // Without the decisions that were left to the origin and made from local counts.
    OriginStats stats() const;

  private:
    using Counter = std::atomic<std::uint64_t>;
    // How long requests are collected for the next call to the origin while one is underway.
    static constexpr std::chrono::milliseconds kCollectSpends{1};
    // A call that fails within this time was not sent.
    static constexpr std::chrono::milliseconds kNotSent{5};

    bool accepts_calls() const { return !has_given_up_ && !is_unavailable(); }
    // The entry of the cell's key. Requires an EpochPin.
    Entry& entry_for(const CellName& cell, UnixTime now);

    // Availability and heartbeats: region.cc.
    void update_availability();
    void catch_up() { catching_up_to_ = config_.clock(); }
    void resubmit_everything();
    void send_heartbeat();
    void on_heartbeat(Time began, const Heartbeat& answer);
    // The count of nodes in the answer to a heartbeat that was sent at `began`.
    void use_count(NodeCount nodes, Time began);
    void update_nodes(Time now);
    void set_wake(Time now);
    // Notes an answer for the key of `hash`. Returns when to ask again if the origin can't serve
    // it.
    template <class Answer>
    std::optional<Time> note_answer(std::uint64_t hash, const Answer& answer) {
        if (!answer.key_error.empty()) return note_key_error(hash, answer.key_error);
        if (answer) failing_keys_.answered(hash);
        return std::nullopt;
    }
    Time note_key_error(std::uint64_t hash, const std::string& error);
    void record(Time began, std::size_t keys, std::size_t missing);
    // Records a call for the breaker. Returns how many of its keys were not answered; those that
    // the origin can't serve were.
    template <class Answer>
    std::size_t record(Time began, std::span<const Answer> answers) {
        const auto missing = static_cast<std::size_t>(std::ranges::count_if(
            answers, [](const Answer& answer) { return !answer && answer.key_error.empty(); }));
        record(began, answers.size(), missing);
        return missing;
    }

    // Flushes: region_flush.cc.
    void flush(Time now);
    FlushQueue::Scope scope(Time now);
    void on_flushed(Time began, std::span<const KeyAnswer> answers);
    void note_flush_time(Time::duration took, std::size_t keys);
    Time::duration pause_after(Time::duration took, std::size_t keys, std::size_t missing) const;

    // Requests that the origin decides: region_spend.cc.
    struct PendingSpend {
        SpendRequest request;
        UnixTime now;
        Time expires;
        Decided decided;
    };
    // The requests for a key in one window.
    struct KeySpends {
        std::vector<PendingSpend> queued;
        bool is_underway = false;  // a call with earlier ones
    };
    using SpendsByKey = std::map<CellName, KeySpends>;
    // A key in a call that is underway.
    struct SpendCall {
        CellName cell;
        std::uint64_t hash;  // of the key
        std::vector<PendingSpend> spends;
        EntrySync sync;
        Count most_at_origin;         // of the component, before the call
        std::uint64_t resubmissions;  // their number when the call was sent
    };
    // The view that an answer brought; see use_view().
    struct NewView {
        CellName cell;
        EntrySync sync;
    };
    // A call to spend expires by the origin's clock, which the first heartbeat tells.
    bool awaits_first_heartbeat() const { return !counted_at_ && is_heartbeat_underway_; }
    bool delays_spends(Time now) const;
    void drop_expired_spends(Time now);
    void send_spends(Time now);
    void send_spends(std::span<const SpendsByKey::iterator> ready);
    std::optional<SpendCall> begin_call(SpendsByKey::iterator key, KeySpend& spend);
    void merge_answer(const SpendCall& call, const SpendAnswer& answer);
    void end_call(SpendCall& call, const SpendAnswer& answer);
    // Sets the entry's credit after the answer to a call.
    static void note_credit(const SpendCall& call, const KeyGrants& grants, Entry& entry);
    void deliver(const SpendCall& call, const SpendAnswer& answer);
    // Returns requests that were queued meanwhile, which the node may decide now.
    std::vector<PendingSpend> settle_call(const SpendCall& call, const SpendAnswer& answer);
    bool has_ample_share(Entry& entry, const PendingSpend& last, Sequence sequence) const;
    std::vector<PendingSpend> use_view(Entry& entry, const SpendCall& call);
    void apply_new_views();

    Table& table_;
    Origin& origin_;
    const Config config_;
    bool is_stopping_ = false;
    bool is_settled_ = false;
    bool has_given_up_ = false;
    std::optional<Time> wake_at_;

    Breaker breaker_;
    bool is_connected_ = false;
    std::string disconnected_;         // why it is not connected
    std::string refused_;              // why it refuses writes; empty: it does not
    std::string reported_;             // the last reported reason; empty while it is available
    std::optional<Time> answered_at_;  // when a call was last answered, at least in part

    bool is_heartbeat_underway_ = false;
    Time heartbeat_at_ = Time::min();
    std::optional<Time> counted_at_;  // when the heartbeat with the count of nodes was sent
    std::optional<Time> joined_at_;
    NodeCount nodes_ = kUnknownNodes;
    // Counts of nodes that were lower than nodes_, which are not used yet.
    struct LowerCount {
        Time since;
        NodeCount most;
    };
    std::optional<LowerCount> lower_count_;
    bool is_clock_off_ = false;

    FailingKeys failing_keys_;
    FlushQueue queue_;
    Jitter jitter_;
    std::optional<Table::Walk> walk_;  // the progress of writing everything again
    // After an outage or a loss, keys that were queued by then are flushed at once, without pauses.
    std::optional<Time> catching_up_to_;
    int failures_ = 0;               // flushes that were not answered in full, in a row
    Time not_before_ = Time::min();  // the next flush that is not urgent
    Time retry_at_ = Time::min();    // the next flush with unanswered keys
    std::size_t retries_ = 1;        // their number in it
    // The shortest of the last durations; a longer one raises it a little.
    struct RecentMinimum {
        Time::duration value{};
        void note(Time::duration one) {
            const auto raised = value + value / 64 + std::chrono::nanoseconds{1};
            value = value == Time::duration::zero() ? one : std::min(one, raised);
        }
    };
    RecentMinimum quickest_flush_;  // per key
    RecentMinimum quickest_heartbeat_;
    Time tidy_at_ = Time::min();
    std::size_t syncs_underway_ = 0;  // of sync()

    SpendsByKey spends_by_key_;
    std::vector<SpendsByKey::iterator> ready_;  // have queued requests and no call underway
    std::size_t spend_calls_underway_ = 0;
    Time spends_sent_at_ = Time::min();
    std::vector<NewView> new_views_;

    // Written by the owner, read by any thread. Relaxed: each stands for itself.
    std::atomic<bool> is_unavailable_{true};
    Counter spends_{0};
    Counter spend_calls_{0};
    Counter flushed_{0};
    Counter unanswered_{0};
    Counter outages_{0};
    Counter resubmissions_{0};
    Counter key_errors_{0};
    std::atomic<std::int64_t> oldest_since_ms_;  // by the clock; max: nothing is unsynced
    std::atomic<std::int64_t> clock_offset_ms_{0};
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REGION_H_
