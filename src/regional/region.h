// A node's part in its region: writes its spend to the origin, lets the origin decide what the
// sharing rule leaves to it, and notices when the origin does not work.
#ifndef SLUICE_REGIONAL_REGION_H_
#define SLUICE_REGIONAL_REGION_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

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
#include "regional/flush_queue.h"
#include "regional/origin.h"

namespace sluice {

// How the origin decided a request.
struct OriginVerdict {
    bool granted;  // its cost is in the origin's counts, and has to be entered here
    Grant grant;   // where it was decided
    // It was not asked, or denied the request by counts that are not all known here: the sharing
    // rule may let the node decide. If not, ask again.
    bool try_locally = false;
};

// The origin is available while it is connected, the breaker over its calls is closed, and it
// accepts writes. While it is not, nobody waits for it: callers decide from local memory. It is
// probed by heartbeats, never by somebody's request.
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
        // Asks for a step soon, but not from within the call. May be called by any thread.
        std::function<void()> again;
        // The regional count of an entry may have grown. May be empty.
        std::function<void(Entry&)> counted = {};
        // The origin has become unavailable or available. `why` is for people.
        std::function<void(bool unavailable, const std::string& why)> changed;
        // The origin's clock has come to differ from this node's by more than a second. May be
        // empty.
        std::function<void(std::chrono::milliseconds offset)> clock_offset = {};
    };

    // The table and the origin must outlive the region.
    Region(Table& table, Origin& origin, Config config);
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    // Connects. Once.
    void start();

    // Does what can be done now.
    void step();
    // When to step next though nothing has happened; none if that is not needed.
    std::optional<Time> wake_at() const { return wake_at_; }

    bool is_unavailable() const { return is_unavailable_.load(std::memory_order_relaxed); }

    // Has the origin decide `request`, which is valid, at `now`, together with all others that wait
    // for its key. While a call for the key is underway, it waits for the next. `decided` is called
    // once, with no value if the origin does not answer, and at once while it is unavailable.
    void spend(const Request& request, UnixTime now, Decided decided);

    // Writes and reads the counts of the keys of `requests` at `now`, in one round trip.
    void sync(std::span<const Request> requests, UnixTime now, Synced synced);

    // From now on everything is flushed as soon as it can be. When all is, the components of this
    // node are merged into those of stopped nodes, and is_settled() becomes true.
    void begin_stop();
    bool is_settled() const { return is_settled_; }

    // Answers all that wait, now or later, with no value.
    void give_up();

    struct Stats {
        std::uint64_t spends;         // requests that the origin decided
        std::uint64_t spend_calls;    // calls for them, one per key
        std::uint64_t flushed;        // keys whose write was acknowledged
        std::uint64_t unanswered;     // keys for which no answer came
        std::uint64_t outages;        // how often the origin became unavailable
        std::uint64_t resubmissions;  // how often everything was written again
        NodeCount nodes;              // that share the limits; 0 while that is not known
        std::chrono::milliseconds oldest_unsynced;
        std::chrono::milliseconds clock_offset;  // of the origin's clock, against this node's
    };
    Stats stats() const;

  private:
    using Counter = std::atomic<std::uint64_t>;

    // A request that waits for the origin.
    struct Waiter {
        SpendRequest request;
        UnixTime now;
        Decided decided;
    };
    // The requests that wait for a key, in one window.
    struct Waiters {
        std::vector<Waiter> waiting;
        bool is_underway = false;
    };
    using WaitingKeys = std::map<CellName, Waiters>;
    // A call for one of them.
    struct SpendCall {
        WaitingKeys::iterator key;
        std::vector<Waiter> waiters;
        EntrySync sync;
        Count most_at_origin;         // of the component, before the call
        std::uint64_t resubmissions;  // so many there were when it was sent
    };
    // The view that an answer brought. It counts as young from the next step on, unless requests
    // wait for the key again by then.
    struct NewView {
        CellName cell;
        EntrySync sync;
    };
    // How a flush is paced.
    enum class Stage { kRunning, kFlushing, kRetiring };

    OriginEvents events();
    void judge();
    void write_everything_again();

    void beat();
    void on_beat(Time began, const HeartbeatAnswer& answer);
    void update_nodes(Time now);
    void note_clock_offset(std::chrono::milliseconds offset);

    void flush(Time now);
    FlushQueue::Scope scope(Time now);
    void send_flush(std::vector<KeyComponents> batch, Time began);
    void on_flushed(Time began, std::span<const KeyAnswer> answers);
    void note_flush(Time::duration took, std::size_t keys);
    Time::duration pause_after(Time::duration took, std::size_t keys, std::size_t missing) const;
    void set_wake(Time now);
    bool advance_stop();

    void send_spends();
    void send_spends(std::span<const WaitingKeys::iterator> ready);
    std::optional<SpendCall> begin_spend(WaitingKeys::iterator key, KeySpend& spend);
    void on_spent(std::vector<SpendCall>& calls, std::vector<SpendAnswer> answers);
    void end_spend(SpendCall& call, const SpendAnswer& answer);
    bool has_ample_share(Entry& entry, const Waiter& last, Sequence sequence) const;
    void note_view(Entry& entry, const SpendCall& call, const CellName& cell);
    void note_views();

    void record(Time began, std::size_t keys, std::size_t missing);
    Time retry_time();

    Table& table_;
    Origin& origin_;
    const Config config_;
    Breaker breaker_;
    FlushQueue queue_;
    Jitter jitter_;

    bool is_connected_ = false;
    std::string why_;      // it is not connected
    std::string refused_;  // why it refuses writes; empty: it does not
    std::string told_;     // what was reported last, while it is unavailable
    bool has_given_up_ = false;
    Stage stage_ = Stage::kRunning;
    bool is_settled_ = false;

    std::optional<Table::Walk> walk_;  // through what is written again
    bool is_catching_up_ = false;      // after an outage or a loss: flush without pauses
    std::optional<Time> answered_at_;  // when a call was last answered, at least in part
    int failures_ = 0;                 // flushes that were not answered in full, in a row
    Time not_before_ = Time::min();    // the next flush that is not urgent
    Time retry_at_ = Time::min();      // what was not answered
    Time::duration quickest_flush_{};  // per key, of late
    std::size_t retries_ = 1;          // keys of these in one flush
    Time tidy_at_ = Time::min();
    std::optional<Time> wake_at_;

    bool is_beating_ = false;
    Time beat_at_ = Time::min();
    std::optional<Time> counted_at_;  // when the count of nodes was asked for
    std::optional<Time> joined_at_;
    NodeCount nodes_ = kUnknownNodes;
    std::optional<Time> fewer_since_;  // when the first lower count came, which is not believed yet
    bool is_clock_off_ = false;

    std::size_t syncs_underway_ = 0;  // of sync()
    WaitingKeys waiting_;
    std::vector<WaitingKeys::iterator> ready_;  // have waiters and no call underway
    std::vector<NewView> new_views_;

    // Written by the owner, read by any thread. Relaxed: each stands for itself.
    std::atomic<bool> is_unavailable_{true};
    Counter spends_{0};
    Counter spend_calls_{0};
    Counter flushed_{0};
    Counter unanswered_{0};
    Counter outages_{0};
    Counter resubmissions_{0};
    std::atomic<std::int64_t> oldest_since_ms_;  // by the clock; max: nothing is unsynced
    std::atomic<std::int64_t> clock_offset_ms_{0};
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REGION_H_
