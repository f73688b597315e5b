// Virtual time, and what happens when.
#ifndef SLUICE_SIM_SCHEDULER_H_
#define SLUICE_SIM_SCHEDULER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace sluice::sim {

// Since the beginning of the run.
using Moment = std::chrono::nanoseconds;

// What happens at the same moment happens in the order in which it was scheduled.
//
// Thread-compatible.
class Scheduler {
  public:
    Moment now() const { return now_; }

    void at(Moment when, std::function<void()> act);
    void after(Moment delay, std::function<void()> act) { at(now_ + delay, std::move(act)); }

    // The same for the one delay that nearly all calls have, and few live to see: a queue of its
    // own keeps those out of the way of what does happen.
    static constexpr Moment kTimeout = std::chrono::milliseconds{300};
    void after_timeout(std::function<void()> act);

    // Does all that is due until `when`, and moves the time there.
    void run_until(Moment when);

    std::uint64_t events() const { return last_; }

  private:
    struct Event {
        Moment when;
        std::uint64_t number;
        std::uint32_t act;
    };
    static bool is_later(const Event& a, const Event& b) {
        return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
    std::uint32_t keep(std::function<void()> act);
    // The next one until then, out of its queue; none if nothing is due.
    bool take_next(Moment until, Event& event);

    Moment now_{0};
    std::uint64_t last_ = 0;
    std::vector<Event> heap_;
    std::deque<Event> timeouts_;
    std::vector<std::function<void()>> acts_;
    std::vector<std::uint32_t> free_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_SCHEDULER_H_
