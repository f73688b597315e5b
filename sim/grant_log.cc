#include "sim/grant_log.h"

#include <algorithm>

namespace sluice::sim {
namespace {

// Grants of one node that are closer together than this are one step.
constexpr std::int64_t kStepMs = 64;

}  // namespace

void GrantLog::add(const Grant& grant) {
    std::vector<NodeSteps>& nodes = cells_[{grant.key, grant.sequence}];
    auto node = std::ranges::find(nodes, grant.node, &NodeSteps::node);
    if (node == nodes.end())
        node = nodes.insert(node, {.region = grant.region, .node = grant.node, .steps = {}});
    std::vector<Step>& steps = node->steps;
    const Count sum = (steps.empty() ? 0 : steps.back().sum) + grant.cost;
    // A step counts from its last grant on.
    if (!steps.empty() && steps.back().at_ms / kStepMs == grant.at_ms / kStepMs) {
        steps.back() = {grant.at_ms, sum};
    } else {
        steps.push_back({grant.at_ms, sum});
    }
}

Count GrantLog::sum(const Query& query) const {
    const auto found = cells_.find({query.key, query.sequence});
    if (found == cells_.end()) return 0;
    Count sum = 0;
    for (const NodeSteps& node : found->second) {
        if (node.region != query.region || node.node == query.except_node) continue;
        const auto after = std::ranges::upper_bound(node.steps, query.by_ms, {}, &Step::at_ms);
        if (after != node.steps.begin()) sum += std::prev(after)->sum;
    }
    return sum;
}

}  // namespace sluice::sim
