// The counts that origins and regions must hold at a moment, and the faults that excuse a lag.
#ifndef SLUICE_SIM_KNOWLEDGE_H_
#define SLUICE_SIM_KNOWLEDGE_H_

#include <sluice/time.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/bounds.h"
#include "sim/options.h"
#include "sim/truth.h"

namespace sluice::sim {

// The periods of a run that faults disturb. A disturbance lasts until the fault has ended and there
// was time to recover: 12 s for a region, 6 publish intervals between regions.
//
// Thread-compatible.
class FaultCalendar {
  public:
    explicit FaultCalendar(const Options& options);

    // Whether nothing disturbed the nodes of a region or their path to the origin in the period.
    bool is_region_quiet(std::uint32_t region, Moment from, Moment to) const;
    // The same for all regions and their path to the store.
    bool is_world_quiet(Moment from, Moment to) const;

    // Whether a fault separates nodes of the region from their origin, or stops such a node.
    static bool affects(const Fault& fault, std::uint32_t region, const Options& options);

    // Whether a request that waits for one call before its own is answered in time.
    bool is_prompt() const { return is_prompt_; }

  private:
    struct Disturbance {
        Moment from;
        Moment to;
    };
    static bool is_free(const std::vector<Disturbance>& all, Moment from, Moment to);

    bool is_lossy_ = false;  // messages are lost or late during the whole run
    bool is_prompt_ = true;
    std::vector<std::vector<Disturbance>> regions_;
    std::vector<Disturbance> world_;
};

// The nodes of a region that may decide locally. A node whose last answered heartbeat was sent more
// than kCountHolds ago lets the origin decide everything, and for kJoining after it is back or has
// joined. All other nodes share the remaining limit, and each must have counted all of them.
//
// Times are true times since the epoch; heartbeats in nanoseconds, decisions in milliseconds.
//
// Thread-compatible.
class Membership {
  public:
    struct AnsweredHeartbeat {
        bool has_joined;
        Moment sent;
        Moment answered;
    };
    void counted(std::uint32_t node, const AnsweredHeartbeat& heartbeat) {
        const auto [found, is_new] = nodes_.try_emplace(node);
        const bool was_unavailable =
            is_new || heartbeat.answered >= found->second.sent + kCountHolds;
        if (was_unavailable || heartbeat.has_joined) found->second.joined = heartbeat.answered;
        found->second.sent = heartbeat.sent;
    }
    void left(std::uint32_t node) { nodes_.erase(node); }

    bool may_decide(std::uint32_t node, std::int64_t at_ms) const {
        const auto found = nodes_.find(node);
        return found != nodes_.end() && found->second.may_decide(at_ms);
    }
    std::uint64_t deciding(std::int64_t at_ms) const {
        std::uint64_t count = 0;
        for (const auto& [serial, node] : nodes_)
            count += node.may_decide(at_ms) ? 1U : 0U;
        return count;
    }

  private:
    struct Node {
        Moment joined{0};
        Moment sent{0};
        bool may_decide(std::int64_t at_ms) const {
            const Duration at{at_ms};
            return at >= std::chrono::floor<Duration>(joined) + kJoining &&
                   at < std::chrono::floor<Duration>(sent) + kCountHolds;
        }
    };
    std::map<std::uint32_t, Node> nodes_;
};

// Without a disturbance, an admission reaches
//
//     its own origin  within longest_unsynced();
//     other regions   after that, one publish, one import tick and the path to the store and back,
//                     but for what the policy lets its region keep to itself.
//
// Admissions that were lost with a killed node are not expected anywhere.
//
// Thread-compatible.
class Expectations {
  public:
    Expectations(const Options& options, const Truth& truth, UnixTime began);

    // The least count of a cell at `at_ms` of true time: what the region's origin holds, and what
    // its nodes know of other regions.
    Count origin_count(std::uint32_t region,
                       KeyIndex key,
                       Sequence sequence,
                       std::int64_t at_ms) const;
    Count foreign_count(std::uint32_t region,
                        KeyIndex key,
                        Sequence sequence,
                        std::int64_t at_ms) const;

    // Whether no fault excuses a decision of the region's nodes, in the period from the oldest view
    // that counts as young until it was made.
    bool is_quiet(std::uint32_t region, std::int64_t arrived_ms, std::int64_t decided_ms) const;

    // What nodes with slow clocks may have added to the previous window after their peers had
    // decided in this one.
    Count skewed(Count previous) const;

    // Whether a cell has expired by some node's clock. The origin forgets it then, and a request
    // that arrived before and is decided after that can't read it.
    bool is_forgotten(Sequence sequence, std::int64_t at_ms) const;

    // Whether clocks step by more than a window, so that keys start over.
    bool has_far_steps() const { return has_far_steps_; }
    // Whether a clock that became right at `since_ms` must deny nothing at `at_ms` because it was
    // wrong.
    bool has_recovered_clock(std::int64_t since_ms, std::int64_t at_ms) const;

    std::optional<Permille> bound() const;

    // The longest time until other regions know what a region admitted.
    Duration longest_between_regions() const { return world_lag_; }

  private:
    Count published_count(std::uint32_t region,
                          KeyIndex key,
                          Sequence sequence,
                          std::int64_t by_ms) const;
    Moment moment(std::int64_t at_ms) const {
        return Duration{at_ms - began_.time_since_epoch().count()};
    }

    const Options& options_;
    const Truth& truth_;
    const UnixTime began_;
    const FaultCalendar calendar_;
    Duration origin_lag_;
    Duration world_lag_;
    bool has_far_steps_;
    bool has_small_tables_;
    bool may_drop_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_KNOWLEDGE_H_
