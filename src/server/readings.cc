#include "server/readings.h"

#include <chrono>
#include <optional>

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

}  // namespace

metrics::Readings readings_of(const Stats& stats) {
    metrics::Readings readings;
    readings.keys_held = stats.keys_held;
    readings.keys_created = stats.keys_created;
    readings.keys_expired = stats.keys_expired;
    readings.keys_started_over = stats.keys_started_over;
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
                       .resubmissions = stats.origin.resubmissions,
                       .key_errors = stats.origin.key_errors};
    readings.global = readings_of(stats.global);
    readings.bus = readings_of(stats.bus);
    return readings;
}

metrics::TraceReadings readings_of(const trace::TracerStats& stats) {
    return {.unavailable = stats.unavailable, .sent = stats.sent, .dropped = stats.dropped};
}

}  // namespace sluice::server
