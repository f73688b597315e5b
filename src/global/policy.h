// What a region publishes (PublishPolicy), and when it publishes and imports (TickSchedule).
#ifndef SLUICE_GLOBAL_POLICY_H_
#define SLUICE_GLOBAL_POLICY_H_

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "window/cell.h"

namespace sluice {

// A region's use of a cell.
struct CellUse {
    Count regional;     // what its nodes have spent
    Count limit;        // that the last request named
    bool has_foreign;   // other regions are known to have spent something in it, too
    Count last_pushed;  // what the last successful publish carried; 0 if there was none
};

// A pure function. What is worth publishing stays so while `regional` grows.
using PublishPolicy = bool (*)(const CellUse& use);

// The policy in use: a region publishes a count from half of the limit on, or once it knows that
// other regions spend in the cell too; and only if the count has grown since the last publish.
bool publish_from_half(const CellUse& use);

// Policies to compare it with, in the simulator.
bool publish_from_quarter(const CellUse& use);
bool publish_always(const CellUse& use);

struct NamedPolicy {
    std::string_view name;
    PublishPolicy policy;
};
// The one in use comes first.
std::span<const NamedPolicy> publish_policies();

// The times of a recurring task, regular over time but never in step with other nodes. Targets are
// one interval apart; the first lies at a random phase of the first interval. Each tick comes up to
// a fifth of an interval after its target, by a new random jitter. Targets are absolute: neither
// jitter nor slow work shifts later ones. Targets that slow work has missed are skipped.
//
// Thread-compatible. It has no clock.
class TickSchedule {
  public:
    using Time = std::chrono::steady_clock::time_point;
    using Interval = std::chrono::milliseconds;

    TickSchedule(Interval interval, Time now, std::uint64_t seed);

    Time next() const { return next_; }
    bool is_due(Time now) const { return now >= next_; }

    // Call when the work of the tick has ended.
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

#endif  // SLUICE_GLOBAL_POLICY_H_
