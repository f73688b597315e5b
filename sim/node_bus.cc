// A node's announcements on the bus, and what it receives there.
#include <utility>

#include "sim/node.h"

namespace sluice::sim {

void Node::join_bus() {
    const auto in_process = [this](auto act) {
        return [this, act](const BusMessage& message) {
            process_.run(world_.scheduler, [act, message] { act(message); });
        };
    };
    bus_ = world_.bus->join(
        name_of_region(place_.region),
        {.other_region = in_process([this](const BusMessage& message) {
             const bool was_silent = global_sync_->receive(message, wall());
             for (const auto& [cell, count] : message.counts)
                 audit_->imported({.cell = cell, .region = message.region, .count = count}, wall());
             if (was_silent) global_sync_->announce_again();
         }),
         .own_region = in_process([this](const BusMessage& message) {
             if (global_sync_->receive_own(message)) global_sync_->announce_again();
         })},
        [this] { return is_cut_from_store; });
    announce_queue_.emplace(AnnounceQueue::Config{.on_first = [this] { announce_when_due(); }});
    watch_bus();
}

void Node::announce_when_due() {
    const Moment at = World::since_start(announce_queue_->wake_at());
    world_.scheduler.at(std::max(at, world_.scheduler.now()), [this] {
        process_.run(world_.scheduler, [this] {
            const std::vector<RegionCount> counts = announce_queue_->take(world_.steady());
            for (const auto& [cell, count] : counts)
                audit_->announcing(cell, count);
            if (!counts.empty() && bus_ != nullptr) static_cast<void>(bus_->send(counts));
        });
    });
}

// As BusThread does.
void Node::watch_bus() {
    constexpr Moment kStatusCheck = std::chrono::milliseconds{250};
    const bool is_unavailable = !bus_->status().is_connected;
    if (std::exchange(is_bus_unavailable_, is_unavailable) && !is_unavailable)
        global_sync_->announce_again();
    world_.scheduler.after(kStatusCheck, [this] {
        process_.run(world_.scheduler, [this] {
            if (bus_ != nullptr) watch_bus();
        });
    });
}

}  // namespace sluice::sim
