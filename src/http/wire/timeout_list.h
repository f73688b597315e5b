// Connections by phase, ordered by deadline.
#ifndef SLUICE_HTTP_WIRE_TIMEOUT_LIST_H_
#define SLUICE_HTTP_WIRE_TIMEOUT_LIST_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <list>

namespace sluice::http {

// The event that a connection waits for. kDeferred: a deferred answer.
enum class Phase { kIdle, kHead, kBody, kWrite, kLinger, kDeferred };
inline constexpr std::size_t kPhases = 6;

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

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TIMEOUT_LIST_H_
