// What a node reads of its parts: for the metrics, and for its observer.
#include <array>
#include <chrono>
#include <optional>
#include <string>

#include <unistd.h>

#include "server/node.h"
#include "server/version.h"
#include "server/worker.h"

namespace sluice::server {
namespace {

double seconds_of(std::optional<std::chrono::milliseconds> age) {
    return age ? std::chrono::duration<double>(*age).count() : -1;
}

metrics::GlobalReadings readings_of(const GlobalStats& stats) {
    if (!stats.attached) return {};
    return {.unavailable = stats.unavailable,
            .publish_unavailable = stats.publish_unavailable,
            .import_unavailable = stats.import_unavailable,
            .breaker_open = stats.breaker_open,
            .publish_breaker_open = stats.publish_breaker_open,
            .import_breaker_open = stats.import_breaker_open,
            .writes = stats.rows_published,
            .write_errors = stats.publish_failures,
            .writes_given_up = stats.rows_given_up,
            .rows_refused = stats.rows_refused,
            .republishes = stats.republishes,
            .rows_forgotten = stats.rows_forgotten,
            .rows_applied = stats.rows_imported,
            .import_errors = stats.import_failures,
            .cells_held = stats.cells_held,
            .cells_dropped = stats.cells_dropped,
            .regions = stats.regions,
            .rows_last_poll = stats.rows_last_import,
            .rows_cleaned = stats.rows_cleaned,
            .publish_lag = seconds_of(stats.publish_lag),
            .since_publish = seconds_of(stats.since_publish),
            .import_lag = seconds_of(stats.since_import)};
}

metrics::BusReadings readings_of(const BusStats& stats) {
    return {.unavailable = stats.unavailable,
            .messages_sent = stats.messages_sent,
            .announcements_sent = stats.announcements_sent,
            .announcements_unsent = stats.announcements_unsent,
            .announcements_overflowed = stats.announcements_overflowed,
            .messages_received = stats.messages_received,
            .announcements_received = stats.announcements_received,
            .own_region = stats.own_region_messages,
            .malformed = stats.malformed_messages,
            .foreign = stats.foreign_messages,
            .receive_overflowed = stats.receive_overflowed,
            .reconnects = stats.reconnects};
}

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
    const Stats stats = limiter_.stats();
    metrics::Readings readings;
    readings.keys_held = stats.keys_held;
    readings.keys_created = stats.keys_created;
    readings.keys_expired = stats.keys_expired;
    readings.keys_evicted = stats.keys_evicted;
    readings.keys_evicted_unsynced = stats.keys_evicted_unsynced;
    readings.cas_retries = stats.cas_retries;
    readings.strict_activations = stats.strict_activations;
    readings.origin = {.unavailable = stats.origin.unavailable,
                       .nodes = stats.origin.nodes,
                       .oldest_unsynced = seconds_of(stats.origin.oldest_unsynced),
                       .clock_offset = seconds_of(stats.origin.clock_offset),
                       .spends = stats.origin.spends,
                       .spend_calls = stats.origin.spend_calls,
                       .flushed = stats.origin.flushed,
                       .unanswered = stats.origin.unanswered,
                       .fallbacks = stats.origin.fallbacks,
                       .queue_overflows = stats.origin.queue_overflows,
                       .outages = stats.origin.outages,
                       .resubmissions = stats.origin.resubmissions};
    readings.global = readings_of(stats.global);
    readings.bus = readings_of(stats.bus);
    readings.overrides_held = overrides_->size();
    readings.log_lines_dropped = log_.dropped();
    readings.ready = readiness_.load(std::memory_order_relaxed) == http::Readiness::kReady;
    const auto add = [](std::uint64_t& sum, const http::WireCounter& counter) {
        sum += static_cast<std::uint64_t>(counter.get());
    };
    const auto add_all = [&](const http::WireCounters& counters) {
        add(readings.connections.open, counters.connections);
        add(readings.connections.accepted, counters.accepted);
        add(readings.connections.refused, counters.refused);
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
        for (const metrics::Route route : {metrics::Route::kLimit, metrics::Route::kMultiLimit}) {
            const metrics::Histogram& latency = metrics_.thread(i).latency(route);
            for (std::size_t bucket = 0; bucket < sums.size(); ++bucket)
                sums[bucket] += latency.read(bucket);
        }
    }
    return sums;
}

}  // namespace sluice::server
