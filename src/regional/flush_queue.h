// The keys whose counts have to be written to the origin, in the order in which they are due.
#ifndef SLUICE_REGIONAL_FLUSH_QUEUE_H_
#define SLUICE_REGIONAL_FLUSH_QUEUE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "counter/table.h"
#include "regional/entry_sync.h"
#include "regional/origin.h"

namespace sluice {

// Keys are flushed within flush_within() of their first unsynced pass, oldest first; urgent ones
// (half of their share is unsynced) before all others. One batch is underway at a time. A key that
// changes while it waits is written once: the work is bounded by the keys that changed, not by the
// requests that changed them. What the origin did not answer is kept until retry(); components are
// merged by max, so that writing them twice is harmless.
//
// A stepped object: no thread, no socket, no clock. Thread-compatible, and the only consumer of the
// table's changed list.
class FlushQueue {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // `counted` is called with each entry whose regional count may have grown. May be empty.
    using Counted = std::function<void(Entry&)>;

    static constexpr std::size_t kBatchKeys = 64;
    static constexpr std::size_t kLateBatchKeys = 128;  // if keys wait longer than they should

    explicit FlushQueue(Table& table, Counted counted = {})
        : table_(table), counted_(std::move(counted)) {}
    ~FlushQueue();
    FlushQueue(const FlushQueue&) = delete;
    FlushQueue& operator=(const FlushQueue&) = delete;

    // Takes the keys that changed since the last call.
    void collect(Time now);

    // Which keys may go: urgent ones, those that are due as well, or all.
    enum class Scope { kUrgent, kDue, kAll };
    // The next batch. Empty if one is underway or there is nothing to write.
    std::vector<KeyComponents> next(Time now, Scope scope);
    // How the batch fared, in its order.
    void answered(std::span<const KeyAnswer> answers);
    bool is_underway() const { return !underway_.empty(); }

    // Puts back up to `most` keys that were not answered. They go first: not too many at a time,
    // since the server that has them may be unavailable while others work.
    void retry(std::size_t most);
    // Drops keys whose counts don't matter any more, while nothing can be written.
    void tidy();

    // When the first waiting key is due; now or earlier if a key is urgent.
    std::optional<Time> due() const;
    // How long the oldest unsynced pass has waited; zero if there is none.
    Time::duration lag(Time now) const;
    bool is_empty() const;

  private:
    struct Waiting {
        Entry* entry;
        Time since;
    };
    struct Underway {
        Waiting waiting;
        EntrySync sync;
        bool is_in_lane;  // urgent: the entry is also in its lane, and stays there
    };
    // Windows under 8 s have to be flushed within an eighth; their lanes are a power of two of
    // 125 ms, so that each lane is in the order in which its keys are due.
    static constexpr std::size_t kLanes = 4;
    using Lane = std::deque<Waiting>;

    static std::size_t lane_of(Duration window);
    static Time::duration lag_of(std::size_t lane);
    Lane* first_lane(Time now, Scope scope);
    std::optional<Time> first_due() const;  // in the lanes
    void collect_urgent(std::span<const std::uint64_t> hashes);
    void add(const Waiting& waiting, bool is_in_lane, std::vector<KeyComponents>& batch);
    void release(const Underway& done);
    void note_counted(Entry& entry) {
        if (counted_) counted_(entry);
    }

    Table& table_;
    const Counted counted_;
    // Entries that the changed list has handed over, and nobody else may free.
    std::array<Lane, kLanes> lanes_;
    std::vector<Entry*> urgent_;  // each is in a lane or underway, and has its urgent flag set
    std::vector<Underway> underway_;
    std::deque<Waiting> aside_;  // not answered
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_FLUSH_QUEUE_H_
