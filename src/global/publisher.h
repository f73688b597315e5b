// Publisher: writes the region's own counts to the global store.
#ifndef SLUICE_GLOBAL_PUBLISHER_H_
#define SLUICE_GLOBAL_PUBLISHER_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/jitter.h"
#include "counter/table.h"
#include "global/component_table.h"
#include "global/policy.h"
#include "global/publish_queue.h"
#include "global/store.h"
#include "global/store_breaker.h"

namespace sluice {

// How often regions publish and import. A constant on purpose: the balance between fresh counts and
// load on the store is a property of the whole fleet, and nodes that differ in it would drift
// apart.
inline constexpr std::chrono::milliseconds kGlobalInterval{10'000};

// How often a node publishes counts that can't wait for the next regular tick.
inline constexpr std::chrono::milliseconds kUrgedInterval{200};

// A regular tick publishes the counts that have changed since the last one and that the policy
// selects: sorted, in chunks, one call at a time. Between two regular ticks, kUrgedInterval apart,
// urged ticks publish those that the policy wants published at once. A count that another node of
// the region has published, as the imported row shows, is not published again: cells that no other
// region is known to use, or that were announced on a bus, are read first, since there is time for
// that. The last pushed count of a cell is updated chunk by chunk, after the store has acknowledged
// it (invariant 13). A chunk that fails for a passing reason is retried after all other chunks,
// within the time of the tick; the remainder is part of the next tick. Rows whose chunks fail
// repeatedly because the store is busy are published in ever smaller chunks, so that a locked row
// delays no other rows.
//
// A store that fails over to a replica may lose rows that it has acknowledged, and a key that is
// denied does not grow, so nothing else would bring its row back. So everything that was published
// and still matters is published again when a call was made on a new connection, and on one tick in
// kRepublishEvery. A regular tick begins with a call without rows, which counts the live regions;
// so a lost connection is noticed within the tick. Two more such calls are made at the start, since
// other regions may start at the same time. Rows that have grown go first; when an interval
// has passed and only repeated ones are left, they are left to the next tick.
//
// A chunk whose rows the store refuses is published in halves after all other chunks, down to the
// single row, which is given up until its count grows. Once kMostRefused rows have been refused in
// a tick and none was accepted, the store is taken to refuse all, and the tick ends.
//
// Cells that are dead before the next tick are not published: other regions would import them too
// late, or not at all. So windows of up to half an interval are never published.
//
// A stepped object: it has no thread, no socket and no clock.
//
//     if (auto call = publisher.next(now, wall)) {
//         auto end = make(*call, store);
//         publisher.answered(failure_of(end), store.connections(), then);
//     }
//
// Thread-compatible, but for counts(), which any thread may call.
class Publisher {
  public:
    using Time = TickSchedule::Time;

    struct Config {
        PublishPolicy policy = publish_adaptively;
        std::chrono::milliseconds interval = kGlobalInterval;
        std::uint64_t seed = 0;  // of phase and jitter
        // The most cells it keeps. Beyond that it first drops published ones, which are then not
        // republished if the store loses them, then those that cease to matter first.
        std::size_t most_cells = 500'000;
    };

    // All must outlive it.
    Publisher(Table& table,
              PublishQueue& queue,
              ComponentTable& components,
              const PublishQueue::Regions& regions,
              StoreBreaker& breaker,
              const Config& config,
              Time now);
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    // A chunk has no more rows than this.
    static constexpr std::size_t kChunkRows = 1'000;

    static constexpr int kRepublishEvery = 12;

    static constexpr int kMostRefused = 32;

    // A call to make: GlobalStore::publish() or read(), with rows that are valid until answered().
    struct Call {
        enum class Kind { kPublish, kRead } kind;
        std::span<const RegionCount> rows;
    };
    // The next one; none if nothing is due. Rows still matter an interval after `wall`: the wall
    // clock's time, or nothing where requests carry their own time.
    std::optional<Call> next(Time now, std::optional<UnixTime> wall);

    // Reports the outcome of the call. `connection` is the number of connections that the store
    // had made by then.
    void answered(const std::optional<StoreFailure>& failure, std::uint64_t connection, Time now);

    // The last row that was given up because the store refused it, if there was any since the last
    // call.
    struct Refusal {
        CellName cell;
        std::string why;
    };
    std::optional<Refusal> take_refusal() { return std::exchange(refusal_, std::nullopt); }

    // When to call next() again. Sooner than it was if the queue has been urged since.
    Time wake_at() const;

    // Begins one more tick at once, the last one before the end. No effect during a call.
    void tick_now(Time now);
    // Between two ticks, and nothing is left of the last one.
    bool is_idle() const { return !tick_began_ && tick_ != Tick::kLast && waiting_.empty(); }

    // Since the start.
    struct Counts {
        std::uint64_t rows;      // published
        std::uint64_t chunks;    // calls that succeeded
        std::uint64_t failures;  // calls that did not
        // Rows that were never published: their cells ceased to matter, or they were too many.
        std::uint64_t given_up;
        std::uint64_t refused;      // rows given up because the store refused them
        std::uint64_t republishes;  // how often all rows were published again, after a reconnect
        // Published rows of cells that still mattered, forgotten because they were too many.
        std::uint64_t forgotten;
        // When a tick last ended with nothing left to publish; none if none has.
        std::optional<Time> last_success;
        // Since when rows have been waiting for a tick that succeeds; none if no rows wait.
        std::optional<Time> waiting_since;
    };
    Counts counts() const;

  private:
    using Counter = std::atomic<std::uint64_t>;

    enum class Tick {
        kEarly,  // at the start: counts the regions
        kRegular,
        kUrged,  // publishes what can't wait for a regular one
        kLast,   // before the end
    };

    // A cell that was published, or may be.
    struct Cell {
        StoredKeyId id{};
        CellUse use{};  // when it was last offered
        Count last_pushed = 0;
        Count wanted = 0;              // the count to publish
        int grown_in = 0;              // the number of the regular tick after which it grew last
        std::uint64_t connection = 0;  // that last_pushed was acknowledged on
        Count refused = 0;             // by the store; not worth another try
        bool is_waiting = false;       // to be published, perhaps again
        int failures = 0;              // of chunks that it was in, since it was last acknowledged

        bool is_repeat() const { return wanted <= last_pushed; }
    };
    // By stored name, and so in the order of the store's unique key.
    using Cells = std::map<CellName, Cell>;
    using Group = std::vector<Cells::iterator>;

    void begin_tick(Time now, std::optional<UnixTime> wall);
    // Queues the cells that the policy selects for this tick, or has some of them read first.
    void select();
    void wait_for(Cells::iterator cell);
    bool is_due(const Cells::value_type& held) const;
    void forget_dead(UnixTime now);
    void collect(const PublishCandidate& candidate, std::optional<UnixTime> wall);
    void make_room();
    void forget_published();
    void want(CellName cell, const RegionalCounts& counts, const RegionalCounts::Cell& counted);
    // Queues all cells that were acknowledged on another connection than the current one; without
    // one, all cells. Returns whether there were any.
    bool republish(Time now, std::optional<std::uint64_t> current_connection);
    void sort_waiting(Time now);
    bool is_useless(const CellName& cell, UnixTime now) const;
    bool give_up_if_useless(Cells::iterator waiting, UnixTime now);
    void publish_read(Time now);
    void fill_chunk(std::optional<UnixTime> wall);
    Group next_group();
    void acknowledge_chunk(Time now);
    void split_chunk(const StoreFailure& failure);
    // Whether the tick has used up its interval and only repeated rows are left.
    bool may_end(Time now) const;
    void postpone_chunk(StoreFailure::Kind kind);
    void drop_chunk();
    void await_breaker(Time now);
    void end_tick(Time now);
    Time retry_time(Time now);

    Table& table_;
    PublishQueue& publish_queue_;
    ComponentTable& components_;
    const PublishQueue::Regions& regions_;
    StoreBreaker& breaker_;
    const PublishPolicy policy_;
    const std::chrono::milliseconds interval_;
    const std::size_t most_cells_;
    TickSchedule schedule_;
    Tick tick_ = Tick::kEarly;  // the current one, or the next unless the queue is urged
    Time wake_at_;
    Time last_began_ = Time::min();  // the last tick of any kind
    int ticks_ = 0;                  // regular ones
    int early_ticks_ = 0;
    std::uint64_t connection_ = 0;  // of the last call
    // All rows wait to be published again after a reconnect, and no call has succeeded since.
    bool is_republish_uncounted_ = false;

    Cells cells_;
    std::multimap<UnixTime, Cells::iterator> deaths_;
    Group collected_;  // cells that were offered since the last tick
    // Cells to publish, the next one last. Grown cells come before repeated ones, cells without
    // failures before failed ones, then in the order of names. During a tick, without those below.
    Group waiting_;
    // Groups of rows that were refused together, in the store's order. The last is retried next.
    std::vector<Group> refused_;
    Group chunk_cells_;               // underway, or waiting for the breaker
    std::vector<RegionCount> chunk_;  // the rows of these
    bool needs_round_trip_ = false;   // this tick has not made its call without rows
    bool is_underway_ = false;
    bool is_reading_ = false;  // the chunk is read before it is published
    std::optional<Time> tick_began_;
    bool has_accepted_ = false;  // the store, any rows of this tick
    int refused_in_tick_ = 0;    // single rows
    Time call_began_;
    int failures_ = 0;  // of calls, in a row
    Jitter jitter_;
    std::optional<Refusal> refusal_;

    // Written by the owner, read by any. Relaxed: each stands for itself.
    Counter rows_{0};
    Counter chunks_{0};
    Counter failed_{0};
    Counter given_up_{0};
    Counter refused_rows_{0};
    Counter republishes_{0};
    Counter forgotten_{0};
    std::atomic<Time> last_success_{Time::min()};
    std::atomic<Time> waiting_since_{Time::max()};
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_PUBLISHER_H_
