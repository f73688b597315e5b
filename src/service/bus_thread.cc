#include "service/bus_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "service/open_bus.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often the status of the bus is checked while nothing is announced.
constexpr milliseconds kStatusCheck{250};

}  // namespace

Result<std::unique_ptr<BusThread>> BusThread::start(const Options& options,
                                                    Bus::Receivers receivers) {
    auto bus = open_bus(options, std::move(receivers));
    if (!bus) return std::move(bus).error();
    return std::make_unique<BusThread>(
        *std::move(bus), options.on_bus_change, options.on_thread_failure);
}

BusThread::BusThread(std::unique_ptr<Bus> bus,
                     std::function<void(const BusChange&)> on_change,
                     OnThreadFailure on_failure)
    : on_change_(std::move(on_change)),
      bus_(std::move(bus)),
      queue_({.on_first = [this] { thread_.wake(); }}) {
    thread_.start({.name = "sluice-bus", .on_failure = std::move(on_failure)},
                  [this] { return turn(); });
}

BusThread::~BusThread() {
    if (!made_.is_in_child()) static_cast<void>(close(steady_clock::now() + kLastTurn));
}

BusThread::Time BusThread::turn() {
    const std::vector<RegionCount> counts = queue_.take(steady_clock::now());
    // What is not sent is counted by the bus.
    if (!counts.empty()) static_cast<void>(bus_->send(counts));
    note_status();
    return std::min(queue_.wake_at(), steady_clock::now() + kStatusCheck);
}

// A bus that has not tried to connect yet has no problem.
void BusThread::note_status() {
    const BusStatus status = bus_->status();
    const bool is_unavailable = !status.is_connected && !status.problem.empty();
    if (is_unavailable == is_unavailable_.exchange(is_unavailable, std::memory_order_relaxed))
        return;
    if (on_change_) on_change_({.unavailable = is_unavailable, .why = status.problem});
}

bool BusThread::close(Time last) {
    const bool has_ended = thread_.stop(last);
    bus_->close();
    return has_ended;
}

BusStats BusThread::stats() const {
    if (made_.is_in_child()) {
        BusStats stats{};
        stats.attached = stats.unavailable = true;
        return stats;
    }
    const BusCounts counts = bus_->counts();
    return {.attached = true,
            .unavailable = is_unavailable(),
            .messages_sent = counts.messages_sent,
            .announcements_sent = counts.announcements_sent,
            .announcements_unsent = counts.announcements_unsent,
            .announcements_overflowed = counts.announcements_overflowed + queue_.dropped(),
            .messages_received = counts.messages_received,
            .announcements_received = counts.announcements_received,
            .own_region_messages = counts.own_region,
            .malformed_messages = counts.malformed,
            .foreign_messages = counts.foreign_version,
            .receive_overflowed = counts.receive_overflowed,
            .reconnects = counts.reconnects};
}

}  // namespace sluice
