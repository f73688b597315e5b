// The state of a node, as it is shown to operators.
#ifndef SLUICE_INSIGHT_NODE_STATUS_H_
#define SLUICE_INSIGHT_NODE_STATUS_H_

#include <sluice/time.h>
#include <sluice/types.h>

#include <cstdint>
#include <string>

namespace sluice::insight {

enum class NodeState { kStarting, kReady, kDraining };

struct NodeStatus {
    std::string version;
    std::string node;  // its owner name at the origin, or the host's name without an origin
    std::string region;
    NodeState state = NodeState::kStarting;
    UnixTime started_at{};
    std::string listen;
    std::string admin_listen;  // empty: there is none; the next, too
    std::string grpc_listen;
    std::uint64_t keys_held = 0;
    std::uint64_t overrides_held = 0;
    std::uint64_t overrides_version = 0;  // of the store, as loaded; 0 where it has none
    bool overrides_failing = false;       // their store does not answer
    std::uint64_t connections = 0;
    OriginStats origin{};
    GlobalStats global{};
    BusStats bus{};
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_NODE_STATUS_H_
