#include "server/readings.h"

#include <chrono>
#include <optional>

namespace sluice::server {
namespace {

double seconds_of(std::optional<std::chrono::milliseconds> age) {
    return age ? std::chrono::duration<double>(*age).count() : -1;
}

}  // namespace

metrics::OriginReadings readings_of(const OriginStats& stats) {
    return {.unavailable = stats.unavailable,
            .nodes = stats.nodes,
            .oldest_unsynced = seconds_of(stats.oldest_unsynced),
            .clock_offset = seconds_of(stats.clock_offset),
            .spends = stats.spends,
            .spend_calls = stats.spend_calls,
            .flushed = stats.flushed,
            .unanswered = stats.unanswered,
            .fallbacks = stats.fallbacks,
            .queue_overflows = stats.queue_overflows,
            .outages = stats.outages,
            .resubmissions = stats.resubmissions};
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

metrics::TraceReadings readings_of(const trace::TracerStats& stats) {
    return {.unavailable = stats.unavailable, .sent = stats.sent, .dropped = stats.dropped};
}

}  // namespace sluice::server
