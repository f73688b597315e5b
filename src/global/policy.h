// The publish policy of a region (PublishPolicy), and the schedule of its publishes and imports
// (TickSchedule).
#ifndef SLUICE_GLOBAL_POLICY_H_
#define SLUICE_GLOBAL_POLICY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "window/cell.h"

namespace sluice {

// A region's use of a cell.
struct CellUse {
    Count regional;     // what its nodes have spent
    Count limit;        // that the last request named
    Count known;        // all known spend that counts against the limit, of all regions
    bool has_foreign;   // other regions are known to have spent in the cell, or in the previous one
    Count last_pushed;  // what the last successful publish carried; 0 if there was none
    bool is_still;      // it has not grown since the last regular tick
    std::size_t regions;  // that share the limit
};

// When a count is published.
enum class PublishTime {
    kNever,     // until it has grown
    kWithTick,  // with the next regular tick
    kNow,       // at once: other regions may decide wrongly without it
};

// A pure function. Unless the count was published, it is no sooner with a smaller `regional`, and
// no later with a smaller `last_pushed`.
using PublishPolicy = PublishTime (*)(const CellUse& use);

// The policy in use, the same rule as between the nodes of a region: a count is published once its
// unpublished part reaches half of the region's share of what is left,
//
//     share = (limit - known) / (2 x regions),
//
// at least 1; while no other region is known to spend in the cell or the previous one, half of an
// even split of the whole limit. The regular tick carries the remainder: of cells that other
// regions use, and of published cells that have stopped growing.
PublishTime publish_adaptively(const CellUse& use);

// Policies to compare it with, in the simulator: a region publishes a count from that part of the
// limit on, or once it knows that other regions spend in the cell too, and only with regular ticks.
PublishTime publish_from_half(const CellUse& use);
PublishTime publish_from_quarter(const CellUse& use);
PublishTime publish_always(const CellUse& use);

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
