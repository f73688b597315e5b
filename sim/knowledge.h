// What origins and regions must know by a moment, from what was granted before.
#ifndef SLUICE_SIM_KNOWLEDGE_H_
#define SLUICE_SIM_KNOWLEDGE_H_

#include <sluice/time.h>

#include <cstdint>

#include "sim/options.h"
#include "sim/quiet.h"
#include "sim/truth.h"

namespace sluice::sim {

// What was granted long enough ago, while nothing was disturbed since, has reached everybody whom
// the documented rule lets it reach:
//
//     own origin     within longest_unsynced()
//     other regions  as above until a node of that region knows its count; a tick of publishing
//                    and a tick of importing, and the way to the store and back; and only what the
//                    policy publishes
//
// What is lost for good with a node that was killed is not expected of anybody.
//
// Thread-compatible.
class Knowledge {
  public:
    Knowledge(const Options& options, const Truth& truth, UnixTime began);

    // Of a cell, at `at_ms` of true time: what nodes of the region granted, and what other regions
    // did.
    Count of_origin(std::uint32_t region,
                    KeyIndex key,
                    Sequence sequence,
                    std::int64_t at_ms) const;
    Count of_world(std::uint32_t region, KeyIndex key, Sequence sequence, std::int64_t at_ms) const;

    // Whether no fault excuses a node of the region for what it decided, from the oldest view that
    // it may use until it decided.
    bool is_quiet(std::uint32_t region, std::int64_t asked_ms, std::int64_t decided_ms) const;

    // What nodes whose clocks are behind may have added to the previous window, after others had
    // decided in this one.
    Count skewed(Count previous) const;

    // Whether a cell is dead by some node's clock: the origin forgets it then, and a request that
    // was made before and is decided after that can't learn of it any more.
    bool is_forgotten(Sequence sequence, std::int64_t at_ms) const;

    // How long what a region granted may be unknown to another one.
    Duration longest_between_regions() const { return world_lag_; }

  private:
    Moment moment(std::int64_t at_ms) const {
        return Duration{at_ms - began_.time_since_epoch().count()};
    }

    const Options& options_;
    const Truth& truth_;
    const UnixTime began_;
    const Quiet quiet_;
    Duration origin_lag_;
    Duration world_lag_;
    bool has_small_tables_;
    bool may_drop_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_KNOWLEDGE_H_
