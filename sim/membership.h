// Which nodes of a region may decide from local memory, by the heartbeats that were answered.
#ifndef SLUICE_SIM_MEMBERSHIP_H_
#define SLUICE_SIM_MEMBERSHIP_H_

#include <chrono>
#include <cstdint>
#include <map>

#include "sim/bounds.h"

namespace sluice::sim {

// A node whose last answered heartbeat was sent longer than kCountHolds ago lets the origin decide
// everything, and one that joined, or was such a node, does so for kJoining. All others share what
// is left, and each of them has to have counted all of them.
//
// Times are true ones, since the epoch. Heartbeats are timed exactly, as nodes do; decisions in
// milliseconds. Thread-compatible.
class Membership {
  public:
    // A heartbeat was answered.
    struct Beat {
        bool has_joined;
        Moment sent;
        Moment answered;
    };
    void counted(std::uint32_t node, const Beat& beat) {
        const auto [found, is_new] = nodes_.try_emplace(node);
        const bool was_unavailable = is_new || beat.answered >= found->second.sent + kCountHolds;
        if (was_unavailable || beat.has_joined) found->second.joined = beat.answered;
        found->second.sent = beat.sent;
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

}  // namespace sluice::sim

#endif  // SLUICE_SIM_MEMBERSHIP_H_
