// Virtual time and reproducible random numbers.
#ifndef SLUICE_SIM_SCHEDULER_H_
#define SLUICE_SIM_SCHEDULER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "window/cell.h"

namespace sluice::sim {

// Time since the start of the run.
using Moment = std::chrono::nanoseconds;

// An event queue. Events at the same moment run in the order in which they were scheduled.
//
// Thread-compatible.
class Scheduler {
  public:
    Moment now() const { return now_; }

    void at(Moment when, std::function<void()> act);
    void after(Moment delay, std::function<void()> act) { at(now_ + delay, std::move(act)); }

    // after(kTimeout, act), with a separate queue: nearly all calls set this timeout and complete
    // before it.
    static constexpr Moment kTimeout = std::chrono::milliseconds{300};
    void after_timeout(std::function<void()> act);

    // Runs all events until `when` and sets the time to it.
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
    // Pops the next event that is due by `until`. False if there is none.
    bool take_next(Moment until, Event& event);

    Moment now_{0};
    std::uint64_t last_ = 0;
    std::vector<Event> heap_;
    std::deque<Event> timeouts_;
    std::vector<std::function<void()>> acts_;
    std::vector<std::uint32_t> free_;
};

// SplitMix64, integers only: the distributions of the standard library differ between
// implementations.
//
// Thread-compatible.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E37'79B9'7F4A'7C15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
        return mixed ^ (mixed >> 31U);
    }

    // 0 to bound - 1; 0 for a bound of 0.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>(Wide{next()} * bound >> 64U);
    }
    // Both ends included.
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return least +
               static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
    }
    bool permille(std::uint64_t chance) { return chance != 0 && below(1'000) < chance; }

  private:
    std::uint64_t state_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_SCHEDULER_H_
