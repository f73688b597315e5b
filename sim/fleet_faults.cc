// Begins and ends the faults of a run.
#include <algorithm>

#include "sim/fleet.h"

namespace sluice::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Moment kRestartPause = seconds{2};
constexpr Moment kNoticesSilence = seconds{1};

}  // namespace

void Fleet::schedule_faults() {
    for (std::size_t i = 0; i < options_.faults.scheduled.size(); ++i) {
        const Fault& fault = options_.faults.scheduled[i];
        world_.scheduler.at(fault.at, [this, i] { begin(i); });
        world_.scheduler.at(fault.at + fault.lasts, [this, i] { end(i); });
        const Moment then = std::max(fault.at - Moment{fault.amount}, Moment{0});
        if (fault.kind == FaultKind::kStoreFailover)
            world_.scheduler.at(then, [this, i] { earlier_stores_[i] = world_.store.contents(); });
        if (fault.kind != FaultKind::kOriginStale) continue;
        world_.scheduler.at(then, [this, i] {
            for (const OriginServer& origin : world_.origins)
                earlier_[i].push_back(origin.contents());
        });
    }
}

void Fleet::begin(std::size_t index) {
    if (is_over_) return;
    const Fault& fault = options_.faults.scheduled[index];
    world_.note(TraceKind::kFaultBegins, static_cast<std::uint32_t>(index));
    is_active_[index] = true;
    switch (fault.kind) {
        case FaultKind::kOriginDown:
            each_origin(fault.target, [&](std::uint32_t region) {
                world_.origins[region].is_down = true;
                each_alive({Target::Kind::kRegion, region},
                           [](Node& node) { node.origin().disconnect("it is down"); });
            });
            return;
        case FaultKind::kOriginSlow:
            each_origin(fault.target, [&](std::uint32_t region) {
                world_.origins[region].slowness = Moment{fault.amount};
            });
            return;
        case FaultKind::kOriginEmpty:
            return each_origin(fault.target, [&](std::uint32_t region) { empty_origin(region); });
        case FaultKind::kOriginStale:
            return each_origin(fault.target, [&](std::uint32_t region) {
                fail_over(region, earlier_[index].at(region));
            });
        case FaultKind::kOriginRefusesWrites:
            return each_origin(fault.target, [&](std::uint32_t region) {
                world_.origins[region].refuses_writes = true;
                world_.scheduler.after(kNoticesRefusal, [this, region] { check_refusal(region); });
            });
        case FaultKind::kStoreDown:
            world_.store.is_down = true;
            return;
        case FaultKind::kStoreSlow:
            world_.store.slowness = Moment{fault.amount};
            return;
        case FaultKind::kStoreBusy:
            world_.store.busy = static_cast<Permille>(fault.amount);
            return;
        case FaultKind::kStoreLag:
            world_.store.lag = Moment{fault.amount};
            return;
        case FaultKind::kStoreFailover:
            return fail_over_store(earlier_stores_[index]);
        case FaultKind::kStoreClock:
            world_.store.clock_error = Moment{fault.amount};
            return;
        case FaultKind::kStoreCleanup: {
            const StoreServer::Contents before = world_.store.contents();
            world_.store.clean_up(Moment{fault.amount});
            return note_lost_rows(before);
        }
        case FaultKind::kBusDown:
            if (world_.bus) world_.bus->is_down = true;
            return;
        case FaultKind::kBusLoss:
            if (world_.bus) world_.bus->loss = static_cast<Permille>(fault.amount);
            return;
        case FaultKind::kBusSlow:
            if (world_.bus) world_.bus->slowness = Moment{fault.amount};
            return;
        case FaultKind::kPartition:
            return partition(fault.target, true);
        case FaultKind::kCrash:
            each_alive(fault.target, [](Node& node) { node.crash(); });
            return;
        case FaultKind::kRestart:
            each_alive(fault.target,
                       [&](Node& node) { restart(node.place().index, kRestartPause); });
            return;
        case FaultKind::kRollingRestart:
            return restart_all(Moment{fault.amount});
        case FaultKind::kClockStep:
            each_alive(fault.target, [&](Node& node) {
                const Moment by{fault.amount};
                fault.lasts == Moment{0} ? node.step_clock(by) : node.set_clock_ahead(by);
            });
            return;
        case FaultKind::kPause:
            each_alive(fault.target, [&](Node& node) { node.pause_until(fault.at + fault.lasts); });
            return;
        case FaultKind::kVolley:
            each_alive(fault.target, [&](Node& node) {
                for (std::int64_t i = 0; i < fault.amount && node.takes_requests(); ++i)
                    node.serve(0, 1);
            });
            return;
        case FaultKind::kBurst:
            arrivals_.burst = static_cast<Permille>(fault.amount);
            return;
    }
}

void Fleet::end(std::size_t index) {
    if (!is_active_[index]) return;
    const Fault& fault = options_.faults.scheduled[index];
    world_.note(TraceKind::kFaultEnds, static_cast<std::uint32_t>(index));
    is_active_[index] = false;
    switch (fault.kind) {
        case FaultKind::kOriginDown:
            each_origin(fault.target,
                        [&](std::uint32_t region) { world_.origins[region].is_down = false; });
            break;
        case FaultKind::kOriginSlow:
            each_origin(fault.target,
                        [&](std::uint32_t region) { world_.origins[region].slowness = Moment{0}; });
            break;
        case FaultKind::kOriginRefusesWrites:
            each_origin(fault.target, [&](std::uint32_t region) {
                world_.origins[region].refuses_writes = false;
            });
            break;
        case FaultKind::kStoreDown:
            world_.store.is_down = false;
            break;
        case FaultKind::kStoreSlow:
            world_.store.slowness = Moment{0};
            break;
        case FaultKind::kStoreBusy:
            world_.store.busy = 0;
            break;
        case FaultKind::kStoreLag:
            world_.store.lag = Moment{0};
            break;
        case FaultKind::kStoreClock:
            world_.store.clock_error = Moment{0};
            break;
        case FaultKind::kBusDown:
            if (world_.bus) world_.bus->is_down = false;
            break;
        case FaultKind::kBusLoss:
            if (world_.bus) world_.bus->loss = options_.faults.bus_loss;
            break;
        case FaultKind::kBusSlow:
            if (world_.bus) world_.bus->slowness = Moment{0};
            break;
        case FaultKind::kPartition:
            partition(fault.target, false);
            break;
        case FaultKind::kCrash:
            for (std::uint32_t i = 0; i < current_.size(); ++i)
                if (!current_[i]->is_alive()) start_node(i);
            break;
        case FaultKind::kClockStep:
            each_alive(fault.target, [](Node& node) { node.correct_clock(); });
            break;
        case FaultKind::kBurst:
            arrivals_.burst = 1'000;
            break;
        default:
            break;
    }
    if (!is_over_) watch_recovery(index);
}

// Checks that nodes notice it, unless another fault masks it.
void Fleet::check_refusal(std::uint32_t region) {
    const auto masks = [&](const Fault& fault) {
        return fault.kind != FaultKind::kOriginRefusesWrites &&
               FaultCalendar::affects(fault, region, options_);
    };
    const FaultPlan& plan = options_.faults;
    if (!world_.origins[region].refuses_writes || plan.loss != 0 ||
        plan.longest_call() >= kOriginTimeout || std::ranges::any_of(plan.scheduled, masks))
        return;
    each_alive({Target::Kind::kRegion, region}, [&](Node& node) { node.check_unavailable(); });
}

void Fleet::note_lost_components(std::uint32_t region, const OriginServer::Contents& kept) {
    OriginServer after(world_.scheduler);
    after.become(kept);
    const auto lives = [&](Serial serial) {
        return std::ranges::any_of(current_, [&](const Node* node) {
            return node->place().serial == serial && node->is_alive();
        });
    };
    for (const auto& held : world_.origins[region].contents().keys) {
        for (const OriginServer::Cell& cell : held.cells) {
            for (const auto& [owner, count] : cell.counts.components()) {
                const auto node = static_cast<Serial>(owner.node);
                if (lives(node)) continue;
                if (after.component(node, held.key, cell.sequence, owner.incarnation) < count)
                    world_.truth.lose(held.key, cell.sequence, region, Truth::Lost::kToRegion);
            }
        }
    }
}

// Nodes that are connected notice within a second.
void Fleet::empty_origin(std::uint32_t region) {
    note_lost_components(region, {});
    world_.origins[region].become({});
    ++world_.origins[region].losses;
    each_alive({Target::Kind::kRegion, region}, [&](Node& node) {
        const Moment later = milliseconds{world_.random.between(1, 1'000)};
        world_.scheduler.after(later, [&node] { node.origin().lose_data(); });
    });
}

void Fleet::fail_over(std::uint32_t region, const OriginServer::Contents& earlier) {
    note_lost_components(region, earlier);
    world_.origins[region].become(earlier);
    ++world_.origins[region].losses;
    each_alive({Target::Kind::kRegion, region},
               [](Node& node) { node.origin().disconnect("it fails over"); });
}

void Fleet::fail_over_store(const StoreServer::Contents& earlier) {
    const StoreServer::Contents before = world_.store.contents();
    world_.store.fail_over(earlier);
    note_lost_rows(before);
}

// A lost row is published again by a live node that has published it before. Without one, other
// regions learn of it when the cell next grows.
void Fleet::note_lost_rows(const StoreServer::Contents& before) {
    for (const auto& [name, cell] : before.cells) {
        const KeyIndex key = name.first;
        const Sequence sequence = name.second;
        for (std::uint32_t region = 0; region < options_.regions; ++region) {
            const Count count = cell.components[region].count;
            if (world_.store.component(key, sequence, region) >= count) continue;
            const bool is_known = std::ranges::any_of(current_, [&](const Node* node) {
                return node->is_alive() && node->place().region == region &&
                       node->audit().has_published(key, sequence, count);
            });
            if (!is_known) world_.truth.lose(key, sequence, region, Truth::Lost::kToOtherRegions);
        }
    }
}

void Fleet::partition(const Target& target, bool is_cut) {
    each_alive(target.kind == Target::Kind::kStore ? Target{} : target, [&](Node& node) {
        node.is_cut_from_store = is_cut;
        if (target.kind != Target::Kind::kNode) return;
        node.origin().is_cut = is_cut;
        if (!is_cut) return;
        world_.scheduler.after(kNoticesSilence, [&node] {
            if (node.origin().is_cut) node.origin().disconnect("it does not answer");
        });
    });
}

void Fleet::restart(std::uint32_t index, Moment down) {
    current_[index]->close([this, index, down] {
        world_.scheduler.after(down, [this, index] {
            if (!current_[index]->is_alive()) start_node(index);
        });
    });
}

void Fleet::restart_all(Moment apart) {
    for (std::uint32_t i = 0; i < current_.size(); ++i) {
        world_.scheduler.after(static_cast<std::int64_t>(i) * apart, [this, i] {
            if (!is_over_ && current_[i]->is_alive()) restart(i, kRestartPause);
        });
    }
}

}  // namespace sluice::sim
