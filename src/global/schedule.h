// When a recurring piece of work is due: regularly over time, but never in step with other nodes.
#ifndef SLUICE_GLOBAL_SCHEDULE_H_
#define SLUICE_GLOBAL_SCHEDULE_H_

#include <chrono>
#include <cstdint>

namespace sluice {

// Ticks aim at targets one interval apart, the first of which lies at a random phase of the first
// interval. Each comes up to a fifth of an interval after its target, by a jitter that is drawn
// anew. Targets are absolute: neither jitter nor slow work shifts those to come. Targets that slow
// work has missed are left out.
//
// Thread-compatible. It has no clock.
class Schedule {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Interval = std::chrono::milliseconds;

    Schedule(Interval interval, Time now, std::uint64_t seed);

    Time next() const { return next_; }
    bool is_due(Time now) const { return now >= next_; }

    // The work of the tick has ended.
    void finish(Time now);

  private:
    std::uint64_t random_below(std::uint64_t bound);
    void set_next();

    const Interval interval_;
    std::uint64_t random_;
    Time target_;
    Time next_;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_SCHEDULE_H_
