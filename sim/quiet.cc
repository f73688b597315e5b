#include "sim/quiet.h"

#include <algorithm>

#include "sim/bounds.h"

namespace sluice::sim {
namespace {

using std::chrono::seconds;

// A node that is restarted is unavailable for this long at the most.
constexpr Moment kRestart = seconds{4};

// Until when a fault acts.
Moment end_of(const Fault& fault, const Options& options) {
    switch (fault.kind) {
        case FaultKind::kRestart:
            return fault.at + kRestart;
        case FaultKind::kRollingRestart:
            return fault.at + Moment{fault.amount} * options.nodes + kRestart;
        default:
            return fault.at + fault.lasts;
    }
}

}  // namespace

bool Quiet::strikes(const Fault& fault, std::uint32_t region, const Options& options) {
    switch (fault.kind) {
        case FaultKind::kStoreDown:
        case FaultKind::kStoreSlow:
        case FaultKind::kStoreBusy:
        case FaultKind::kStoreLag:
        case FaultKind::kStoreFailover:
        case FaultKind::kStoreClock:
        case FaultKind::kStoreCleanup:
        case FaultKind::kBurst:
        case FaultKind::kVolley:
            return false;
        case FaultKind::kPartition:
            if (fault.target.kind != Target::Kind::kNode) return false;
            break;
        default:
            break;
    }
    switch (fault.target.kind) {
        case Target::Kind::kRegion:
            return fault.target.index == region;
        case Target::Kind::kNode:
            return fault.target.index % options.regions == region;
        default:
            return true;
    }
}

Quiet::Quiet(const Options& options) : regions_(options.regions) {
    const FaultPlan& plan = options.faults;
    is_lossy_ = plan.loss != 0 || plan.longest_call() >= Scheduler::kTimeout;
    is_prompt_ = 3 * plan.longest_call() < Scheduler::kTimeout;
    // Nodes that start are not connected yet, and what they admit until then has to be flushed.
    for (auto& region : regions_)
        region.push_back({Moment{0}, 2 * kConnects});
    const Moment interval = longest_between_ticks(options.interval);
    for (const Fault& fault : plan.scheduled) {
        if (fault.kind == FaultKind::kBurst || fault.kind == FaultKind::kVolley) continue;
        const Moment end = end_of(fault, options);
        world_.push_back({fault.at, end + intervals_to_converge(fault.kind) * interval});
        for (std::uint32_t region = 0; region < options.regions; ++region)
            if (strikes(fault, region, options))
                regions_[region].push_back({fault.at, end + kTimeToSettle});
    }
}

bool Quiet::is_free(const std::vector<Disturbance>& all, Moment from, Moment to) {
    return std::ranges::none_of(
        all, [&](const Disturbance& one) { return one.from <= to && from <= one.to; });
}

bool Quiet::is_region_quiet(std::uint32_t region, Moment from, Moment to) const {
    return !is_lossy_ && is_free(regions_[region], from, to);
}

bool Quiet::is_world_quiet(Moment from, Moment to) const {
    return !is_lossy_ && is_free(world_, from, to);
}

}  // namespace sluice::sim
