// The readings of a node's parts, for its metrics and its observer.
#include <array>
#include <chrono>
#include <optional>
#include <string>

#include <unistd.h>

#include "server/node.h"
#include "server/readings.h"
#include "server/version.h"
#include "server/worker.h"

namespace sluice::server {
namespace {

insight::NodeState state_of(http::Readiness readiness) {
    switch (readiness) {
        case http::Readiness::kStarting:
            return insight::NodeState::kStarting;
        case http::Readiness::kReady:
            return insight::NodeState::kReady;
        case http::Readiness::kDraining:
            break;
    }
    return insight::NodeState::kDraining;
}

std::string shown(const std::optional<config::Address>& address) {
    return address ? config::to_string(*address) : "";
}

std::string name_of(const Limiter& limiter) {
    if (std::string node = limiter.node(); !node.empty()) return node;
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

metrics::Readings Node::read() const {
    metrics::Readings readings = readings_of(limiter_.stats());
    if (tracer_ != nullptr) readings.trace = readings_of(tracer_->stats());
    readings.overrides_held = overrides_->size();
    readings.log_lines_dropped = log_.dropped();
    readings.thread_failures = failures_->count();
    readings.ready = readiness_.load(std::memory_order_relaxed) == http::Readiness::kReady;
    const auto add = [](std::uint64_t& sum, const http::WireCounter& counter) {
        sum += static_cast<std::uint64_t>(counter.get());
    };
    const auto add_all = [&](const http::WireCounters& counters) {
        add(readings.connections.open, counters.connections);
        add(readings.connections.accepted, counters.accepted);
        add(readings.connections.refused, counters.refused);
        add(readings.connections.evicted, counters.evicted);
        add(readings.connections.accept_failures, counters.accept_failures);
        add(readings.connections.timeouts, counters.timeouts);
        add(readings.connections.shed, counters.shed);
        add(readings.connections.buffered_bytes, counters.buffered);
        add(readings.connections.handshake_failures, counters.handshake_failures);
    };
    for (const auto& worker : workers_) {
        add_all(worker->counters());
        if (worker->grpc() == nullptr) continue;
        add_all(worker->grpc()->counters());
        const grpc::SessionCounters& calls = worker->grpc()->session_counters();
        add(readings.grpc.calls, calls.calls);
        add(readings.grpc.refused, calls.refused);
        add(readings.grpc.cancelled, calls.cancelled);
        add(readings.grpc.expired, calls.expired);
        add(readings.grpc.floods, calls.floods);
    }
    if (admin_ != nullptr) add_all(admin_->counters());
    return readings;
}

insight::NodeStatus Node::read_status() const {
    Stats stats = limiter_.stats();
    insight::NodeStatus status{.version = kVersion,
                               .node = name_of(limiter_),
                               .region = settings_.region,
                               .state = state_of(readiness_.load(std::memory_order_relaxed)),
                               .started_at = started_at_,
                               .listen = config::to_string(settings_.listen),
                               .admin_listen = shown(settings_.admin_listen),
                               .grpc_listen = shown(settings_.grpc.listen),
                               .keys_held = stats.keys_held,
                               .overrides_held = overrides_->size(),
                               .overrides_version = overrides_->version(),
                               .overrides_failing = override_changes_->is_failing(),
                               .origin = stats.origin,
                               .global = stats.global,
                               .bus = stats.bus};
    for (const auto& worker : workers_) {
        const auto open = [](const http::WireCounters& counters) {
            return static_cast<std::uint64_t>(counters.connections.get());
        };
        status.connections += open(worker->counters());
        if (worker->grpc() != nullptr) status.connections += open(worker->grpc()->counters());
    }
    return status;
}

// Of the HTTP calls that decide.
insight::LatencyCounts Node::read_latency() const {
    insight::LatencyCounts sums{};
    for (std::size_t i = 0; i < metrics_.threads(); ++i) {
        for (const metrics::Route route :
             {metrics::Route::kLimit, metrics::Route::kMultiLimit, metrics::Route::kJson}) {
            const metrics::Histogram& latency = metrics_.thread(i).latency(route);
            for (std::size_t bucket = 0; bucket < sums.size(); ++bucket)
                sums[bucket] += latency.read(bucket);
        }
    }
    return sums;
}

}  // namespace sluice::server
