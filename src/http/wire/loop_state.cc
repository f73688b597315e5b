#include "http/wire/loop_state.h"

#include <ctime>
#include <utility>

#include "http/wire/socket_connection.h"

namespace sluice::http {

namespace {

// Large enough for most bodies, small enough to stay in the second-level cache.
constexpr std::size_t kInputSize = 64UL * 1024;

// Connections that turn out to have a request before none is evicted.
constexpr int kEvictionTries = 16;

std::timespec read_clock(clockid_t id) {
    std::timespec time{};
    clock_gettime(id, &time);
    return time;
}

// Of the clock that set_time() reads, rounded up.
std::chrono::milliseconds clock_resolution() {
    std::timespec step{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &step);
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::seconds{step.tv_sec} +
                                                        std::chrono::nanoseconds{step.tv_nsec});
}

}  // namespace

LoopState::LoopState(const WireLimits& wire_limits, std::function<void()> wake)
    : limits(wire_limits),
      turn(wire_limits.turn),
      input(kInputSize),
      resolution_(clock_resolution()),
      wake_(std::move(wake)) {
    timeout_list.set_timeout(Phase::kNew, limits.header_timeout);
    timeout_list.set_timeout(Phase::kIdle, limits.idle_timeout);
    timeout_list.set_timeout(Phase::kHead, limits.header_timeout);
    timeout_list.set_timeout(Phase::kBody, limits.body_timeout);
    timeout_list.set_timeout(Phase::kWrite, limits.write_timeout);
    timeout_list.set_timeout(Phase::kLinger, limits.linger_timeout);
    set_time();
}

LoopState::~LoopState() {
    timeout_list.for_each(
        [](std::unique_ptr<SocketConnection>& connection) { connection->close(); });
}

void LoopState::set_time() {
    const std::timespec monotonic = read_clock(CLOCK_MONOTONIC_COARSE);
    now = std::chrono::milliseconds{monotonic.tv_sec * 1000 + monotonic.tv_nsec / 1'000'000};
    wall_time =
        std::chrono::sys_seconds{std::chrono::seconds{read_clock(CLOCK_REALTIME_COARSE).tv_sec}};
}

void LoopState::tick_at(std::chrono::milliseconds time) {
    if (time >= next_tick) return;
    next_tick = time;
    if (on_tick_at) on_tick_at();
}

void LoopState::enqueue(SocketConnection* connection) {
    if (std::exchange(connection->is_queued_, true)) return;
    queue_.push_back(connection);
    if (queue_.size() == 1) wake_();
}

void LoopState::run_queue() {
    set_time();
    running_.swap(queue_);
    for (SocketConnection* connection : running_) {
        connection->is_queued_ = false;
        connection->on_turn();
    }
    running_.clear();
    delete_closed();
}

void LoopState::defer_delete(SocketConnection* connection) {
    if (connection->is_queued_) std::erase(queue_, connection);
    closed_.push_back(timeout_list.remove(connection->place()));
}

void LoopState::delete_closed() {
    closed_.clear();
}

std::size_t LoopState::make_room() {
    if (timeout_list.size() >= limits.connections) {
        evict();
        delete_closed();
    }
    return timeout_list.size();
}

void LoopState::evict() {
    for (int tries = 0; tries < kEvictionTries; ++tries) {
        const auto* oldest = timeout_list.oldest({Phase::kNew, Phase::kIdle});
        if (oldest == nullptr) oldest = timeout_list.oldest({Phase::kHead});
        if (oldest == nullptr) return;
        SocketConnection* connection = oldest->item.get();
        const auto place = connection->place();
        const auto [phase, since] = std::pair(place->phase, place->since);
        // A request that has arrived is answered.
        connection->poll();
        if (connection->is_closed()) return;
        if (place->phase != phase || place->since != since) continue;
        counters.evicted.add(1);
        return connection->evict();
    }
}

void LoopState::shed_load() {
    // Ends: each shed() makes a connection hold nothing, or closes it.
    while (buffers.total() > limits.buffered) {
        counters.shed.add(1);
        buffers.largest()->shed();
    }
    counters.buffered.set(static_cast<std::int64_t>(buffers.total()));
}

}  // namespace sluice::http
