// Which nodes of a region may decide from local memory, by the heartbeats that were answered.
#ifndef SLUICE_SIM_MEMBERSHIP_H_
#define SLUICE_SIM_MEMBERSHIP_H_

#include <cstdint>
#include <map>

#include "sim/bounds.h"

namespace sluice::sim {

// A node whose last answered heartbeat was sent longer than kCountHolds ago lets the origin decide
// everything, and one that joined, or was such a node, does so for kJoining. All others share what
// is left, and each of them has to have counted all of them.
//
// Times are true ones, in milliseconds. Thread-compatible.
class Membership {
  public:
    void counted(std::uint32_t node, bool has_joined, std::int64_t sent_ms, std::int64_t now_ms) {
        const auto [found, is_new] = nodes_.try_emplace(node);
        const bool was_away = is_new || now_ms >= found->second.sent_ms + kCountHolds.count();
        if (was_away || has_joined) found->second.joined_ms = now_ms;
        found->second.sent_ms = sent_ms;
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
        std::int64_t joined_ms = 0;
        std::int64_t sent_ms = 0;
        bool may_decide(std::int64_t at_ms) const {
            return at_ms >= joined_ms + kJoining.count() && at_ms < sent_ms + kCountHolds.count();
        }
    };
    std::map<std::uint32_t, Node> nodes_;
};

}  // namespace sluice::sim

#endif  // SLUICE_SIM_MEMBERSHIP_H_
