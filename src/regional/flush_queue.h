// The queue of keys whose counts have to be written to the origin, in the order of their due times.
#ifndef SLUICE_REGIONAL_FLUSH_QUEUE_H_
#define SLUICE_REGIONAL_FLUSH_QUEUE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "counter/table.h"
#include "regional/entry_sync.h"
#include "regional/failing_keys.h"
#include "regional/origin.h"

namespace sluice {

// Keys are flushed within flush_within() of their first unsynced pass, oldest first; urgent ones
// (half of their share is unsynced) before all others. One batch is underway at a time. A key that
// changes while it is queued is written once: the work is bounded by the number of changed keys,
// not of requests. Keys without an answer are kept until retry(), and keys that the origin can't
// serve until the time of their own next try; components are merged by max, so that writing them
// twice is harmless.
//
// A stepped object: no thread, no socket, no clock. Thread-compatible, and the only consumer of the
// table's changed list.
class FlushQueue {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // `counted` is called with each entry whose regional count may have grown. May be empty.
    using Counted = std::function<void(Entry&)>;

    static constexpr std::size_t kBatchKeys = 64;
    static constexpr std::size_t kLateBatchKeys = 256;  // if keys wait longer than they should

    // Urgent keys that `failing` pauses are left to their next try. It must outlive the queue.
    FlushQueue(Table& table, const FailingKeys& failing, Counted counted)
        : table_(table), paused_(failing), counted_(std::move(counted)) {}
    ~FlushQueue();
    FlushQueue(const FlushQueue&) = delete;
    FlushQueue& operator=(const FlushQueue&) = delete;

    // Queues the keys that changed since the last call.
    void collect(Time now);

    // The keys of a batch: urgent ones, due ones as well, or all.
    enum class Scope { kUrgent, kDue, kAll };
    // The next batch. Empty if one is underway or there is nothing to write.
    std::vector<KeyComponents> next(Time now, Scope scope);
    // The answers to the batch, in its order. `note` is called with each, and returns when to try
    // again if the origin can't serve the key.
    using Note = std::function<std::optional<Time>(const Entry& entry, const KeyAnswer& answer)>;
    void answered(std::span<const KeyAnswer> answers, const Note& note);
    bool is_underway() const { return !underway_.empty(); }

    // Queues up to `most` unanswered keys again, in front. Few at a time, since their server may be
    // unavailable while other servers work.
    void retry(std::size_t most);
    // Drops keys whose counts have expired. For the time when nothing can be written.
    void tidy();

    // When the first queued key is due; in the past if a key is urgent.
    std::optional<Time> due() const;
    // The age of the oldest unsynced pass; zero if there is none. Without keys that the origin
    // can't serve, and so is the next one.
    Time::duration lag(Time now) const;
    bool is_empty() const;
    // Whether keys that were queued by `then` are not written yet, unanswered ones left aside.
    bool has_queued_by(Time then) const;

  private:
    struct Queued {
        Entry* entry;
        Time since;
    };
    struct InFlightKey {
        Queued queued;
        EntrySync sync;
        bool is_in_lane;  // urgent: the entry is also in its lane, and stays there
    };
    // Windows under 8 s have to be flushed within an eighth; their lanes are a power of two of
    // 125 ms, so that each lane is in the order in which its keys are due.
    static constexpr std::size_t kLanes = 4;
    using Lane = std::deque<Queued>;

    static std::size_t lane_of(Duration window);
    static Time::duration lag_of(std::size_t lane);
    // The lane with the key that is due first, and when that is; none if all are empty.
    struct FirstDue {
        std::size_t lane;
        Time due;
    };
    std::optional<FirstDue> first_due() const;
    void requeue_failing(Time now);
    void collect_urgent(std::span<const std::uint64_t> hashes);
    void add(const Queued& queued, Time now, bool is_in_lane, std::vector<KeyComponents>& batch);
    void release(const InFlightKey& done);
    void note_counted(Entry& entry) {
        if (counted_) counted_(entry);
    }

    Table& table_;
    const FailingKeys& paused_;
    const Counted counted_;
    // Entries taken from the changed list; only this queue may free them.
    std::array<Lane, kLanes> lanes_;
    std::vector<Entry*> urgent_;  // each is in a lane or underway, and has its urgent flag set
    std::vector<InFlightKey> underway_;
    std::deque<Queued> aside_;             // unanswered, until retry()
    std::multimap<Time, Queued> failing_;  // by the time of the next try
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_FLUSH_QUEUE_H_
