// State that the connections of one thread share: buffers, timeouts, the queue of turns.
#ifndef SLUICE_HTTP_WIRE_LOOP_STATE_H_
#define SLUICE_HTTP_WIRE_LOOP_STATE_H_

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/wire/limits.h"

namespace sluice::http {

class SocketConnection;

// The event that a connection waits for. kNew: the first request of a new connection, with the TLS
// handshake. kDeferred: a deferred answer, or a turn.
enum class Phase { kNew, kIdle, kHead, kBody, kWrite, kLinger, kDeferred };
inline constexpr std::size_t kPhases = 7;

// Owns items and finds those whose deadline has passed. All items of one phase have the same
// timeout, so a list per phase in the order of arrival is sorted by deadline: each operation takes
// constant time and allocates nothing, and one timer is enough. It has no clock; the caller passes
// the time.
//
// Owned by one thread.
template <class Item>
class TimeoutList {
  public:
    using Time = std::chrono::milliseconds;  // since any fixed point; never goes back
    struct Entry {
        Item item;
        Phase phase;
        Time since;
    };
    using Place = typename std::list<Entry>::iterator;

    // A phase whose timeout is 0 never expires.
    void set_timeout(Phase phase, Time timeout) { timeouts_[index(phase)] = timeout; }

    Place add(Item item, Phase phase, Time now) {
        lists_[index(phase)].push_back({std::move(item), phase, now});
        ++size_;
        return std::prev(lists_[index(phase)].end());
    }

    // Moves to `phase` and restarts the timeout.
    void enter(Place place, Phase phase, Time now) {
        if (place->phase == phase && place->since == now) return;
        auto& to = lists_[index(phase)];
        to.splice(to.end(), lists_[index(place->phase)], place);
        place->phase = phase;
        place->since = now;
    }

    Item remove(Place place) {
        Item item = std::move(place->item);
        lists_[index(place->phase)].erase(place);
        --size_;
        return item;
    }

    std::size_t size() const { return size_; }

    // Returns the entry that has been in one of these phases for the longest time; null if there is
    // none.
    const Entry* oldest(std::initializer_list<Phase> phases) const {
        const Entry* found = nullptr;
        for (const Phase phase : phases) {
            const auto& list = lists_[index(phase)];
            if (list.empty()) continue;
            if (found == nullptr || list.front().since < found->since) found = &list.front();
        }
        return found;
    }

    // Calls `act` with each expired item. It must remove that item or make it enter a phase.
    template <class Act>
    void expire(Time now, Act act) {
        for (std::size_t i = 0; i < kPhases; ++i) {
            if (timeouts_[i] == Time::zero()) continue;
            while (!lists_[i].empty() && lists_[i].front().since + timeouts_[i] <= now) {
                act(lists_[i].front().item);
            }
        }
    }

    // Calls `act` with each item. It may remove any items, and make them enter another phase.
    template <class Act>
    void for_each(Act act) {
        for (auto& list : lists_) {
            for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
                // Moved to the back first, so that the next one is in front whatever `act` does.
                list.splice(list.end(), list, list.begin());
                act(list.back().item);
            }
        }
    }

  private:
    static std::size_t index(Phase phase) { return static_cast<std::size_t>(phase); }

    std::array<std::list<Entry>, kPhases> lists_;
    std::array<Time, kPhases> timeouts_{};
    std::size_t size_ = 0;
};

// Sums the buffer memory of all items and finds one of the largest holders. Items are grouped by
// the power of two of their size, so that each update takes constant time and allocates nothing.
//
// Owned by one thread.
template <class Item>
class BufferLedger {
  public:
    struct Entry {
        Item* item;
        std::size_t bytes;
    };
    using Place = typename std::list<Entry>::iterator;

    // Starts at 0 bytes.
    Place add(Item* item) {
        groups_[0].push_back({item, 0});
        return std::prev(groups_[0].end());
    }

    // Sets the number of bytes that the item holds.
    void set(Place place, std::size_t bytes) {
        total_ += bytes;
        total_ -= place->bytes;
        auto& from = groups_[group_of(place->bytes)];
        auto& to = groups_[group_of(bytes)];
        if (&from != &to) to.splice(to.end(), from, place);
        place->bytes = bytes;
    }

    void remove(Place place) {
        total_ -= place->bytes;
        groups_[group_of(place->bytes)].erase(place);
    }

    std::size_t total() const { return total_; }

    // Returns an item that holds more than half of what any other holds; of several, the one that
    // has been in its size class for the longest time. Null if no item holds anything.
    Item* largest() const {
        for (std::size_t i = groups_.size() - 1; i > 0; --i) {
            if (!groups_[i].empty()) return groups_[i].front().item;
        }
        return nullptr;
    }

  private:
    static std::size_t group_of(std::size_t bytes) {
        return static_cast<std::size_t>(std::bit_width(bytes));
    }

    // Group i > 0 has the sizes from 2^(i-1) to 2^i - 1.
    std::array<std::list<Entry>, std::numeric_limits<std::size_t>::digits + 1> groups_;
    std::size_t total_ = 0;
};

// Connections take turns, so one input buffer and one output buffer serve all of them:
// between turns a connection keeps only unfinished requests and unsent answers. So an idle
// connection is small, and a busy one stays in the processor's cache.
//
// Owned by one thread.
class LoopState {
  public:
    // `wake` must arrange for run_queue() to be called soon, and not from within itself.
    LoopState(const WireLimits& wire_limits, std::function<void()> wake);
    ~LoopState();
    LoopState(const LoopState&) = delete;
    LoopState& operator=(const LoopState&) = delete;

    // Reads the clocks. Called once per turn of the event loop, not per request.
    void set_time();

    // `now` is at most this far behind the time.
    std::chrono::milliseconds resolution() const { return resolution_; }

    // Makes the protocol's on_tick() run soon after `now` is `time`, if it would run later.
    void tick_at(std::chrono::milliseconds time);

    // Gives `connection` another turn.
    void enqueue(SocketConnection* connection);
    void run_queue();
    bool has_queue() const { return !queue_.empty(); }

    // Removes `connection` from timeout_list. It is deleted in delete_closed(), since its code is
    // still running.
    void defer_delete(SocketConnection* connection);
    void delete_closed();

    // At limits.connections, closes the connection that has been idle for the longest time: between
    // requests, or before its first one. If there is none, one with an incomplete head. Closes none
    // if all have requests in progress. Returns the number of connections that are left. Not to be
    // called while a connection has its turn.
    std::size_t make_room();

    // Closes the connections that hold the most until the total is within limits.buffered. Must
    // not be called while a connection uses the scratch memory below.
    void shed_load();

    const WireLimits limits;
    WireCounters counters;
    TimeoutList<std::unique_ptr<SocketConnection>> timeout_list;
    std::chrono::milliseconds now{};  // monotonic, for timeout_list
    std::chrono::sys_seconds wall_time{};
    // The earliest time of tick_at() since the last tick.
    std::chrono::milliseconds next_tick = std::chrono::milliseconds::max();
    std::function<void()> on_tick_at{};  // next_tick is earlier than it was
    bool is_draining = false;
    BufferLedger<SocketConnection> buffers;  // memory that connections keep between turns
    std::size_t deferred = 0;                // deferred exchanges

    // Of the connection that has its turn: its budget, and scratch memory.
    Turn turn;
    std::vector<char> input;
    std::string output;

  private:
    void evict();

    const std::chrono::milliseconds resolution_;
    std::function<void()> wake_;
    std::vector<SocketConnection*> queue_;
    std::vector<SocketConnection*> running_;
    std::vector<std::unique_ptr<SocketConnection>> closed_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_LOOP_STATE_H_
