#include "metrics/metrics.h"

#include <array>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "metrics/text.h"

namespace sluice::metrics {
namespace {

using Seconds = std::chrono::duration<double>;

#if defined(__clang__)
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "gcc " __VERSION__;
#endif

std::vector<std::unique_ptr<ThreadMetrics>> one_for_each(std::size_t threads) {
    std::vector<std::unique_ptr<ThreadMetrics>> all(threads);
    for (auto& thread : all) {
        thread = std::make_unique<ThreadMetrics>();
    }
    return all;
}

}  // namespace

Metrics::Metrics(MetricsOptions options)
    : options_(std::move(options)),
      started_(std::chrono::steady_clock::now()),
      threads_(one_for_each(options_.threads + 1)) {
    SLUICE_CHECK(options_.threads > 0);
}

template <class Read>
std::uint64_t Metrics::sum(Read read) const {
    std::uint64_t total = 0;
    for (const auto& thread : threads_) {
        total += read(*thread);
    }
    return total;
}

// One sample for each value of the label. `pick` finds the counters in a thread's metrics.
template <class By, class Pick>
void Metrics::write_by(Text& text, const LabelTexts<By>& labels, Pick pick) const {
    for (std::size_t i = 0; i < labels.texts.size(); ++i) {
        const auto value = static_cast<By>(i);
        text.sample({{labels.name, labels.texts[i]}},
                    sum([&](const ThreadMetrics& thread) { return pick(thread)[value].read(); }));
    }
}

void Metrics::write(std::string& out) const {
    const Readings readings = options_.read ? options_.read() : Readings{};
    Text text(out);
    write_decisions(text);
    write_keys(readings, text);
    write_origin(readings.origin, text);
    write_global(readings.global, text);
    write_bus(readings.bus, text);
    write_overrides(readings, text);
    write_requests(text);
    write_connections(readings.connections, text);
    write_grpc(readings.grpc, text);
    write_trace(readings.trace, text);
    write_process(readings, text);
    write_old_names(readings, text);
    if (options_.write_more) options_.write_more(out);
}

void Metrics::write_old_names(const Readings& readings, Text& text) {
    text.single(kOldOriginUnavailable, readings.origin.unavailable ? 1 : 0);
    text.single(kOldGlobalUnavailable, readings.global.unavailable ? 1 : 0);
    text.single(kOldKeysEvictedUnsynced, readings.keys_evicted_unsynced);
    text.single(kOldGlobalCellsDropped, readings.global.cells_dropped);
}

void Metrics::write_decisions(Text& text) const {
    text.begin(kDecisions);
    for (std::size_t i = 0; i < kCountOf<Source> * kCountOf<Outcome>; ++i) {
        const std::size_t source = i / kCountOf<Outcome>;
        const auto outcome = static_cast<Outcome>(i % kCountOf<Outcome>);
        text.sample(
            {{"source", kSourceTexts[source]}, {"outcome", kOutcomeTexts[i % kCountOf<Outcome>]}},
            sum([&](const ThreadMetrics& t) { return t.by_source[source][outcome].read(); }));
    }
    text.single(kOverridden, sum([](const ThreadMetrics& t) { return t.overridden.read(); }));
}

void Metrics::write_keys(const Readings& readings, Text& text) {
    text.single(kKeysHeld, readings.keys_held);
    text.single(kKeysCreated, readings.keys_created);
    text.single(kKeysExpired, readings.keys_expired);
    text.single(kKeysStartedOver, readings.keys_started_over);
    text.single(kKeysEvicted, readings.keys_evicted);
    text.single(kKeysEvictedUnsynced, readings.keys_evicted_unsynced);
    text.single(kCasRetries, readings.cas_retries);
    text.single(kStrictActivations, readings.strict_activations);
}

void Metrics::write_origin(const OriginReadings& readings, Text& text) {
    text.single(kOriginUnavailable, readings.unavailable ? 1 : 0);
    text.single(kOriginNodes, readings.nodes);
    for (const auto& [name, seconds] : {std::pair{&kOriginOldestUnsynced, readings.oldest_unsynced},
                                        std::pair{&kOriginClockOffset, readings.clock_offset}}) {
        text.begin(*name);
        text.sample({}, seconds);
    }
    text.single(kOriginSpends, readings.spends);
    text.single(kOriginSpendCalls, readings.spend_calls);
    text.single(kOriginFlushed, readings.flushed);
    text.single(kOriginUnanswered, readings.unanswered);
    text.single(kOriginFallbacks, readings.fallbacks);
    text.single(kOriginQueueOverflows, readings.queue_overflows);
    text.single(kOriginOutages, readings.outages);
    text.single(kOriginResubmissions, readings.resubmissions);
    text.single(kOriginKeyErrors, readings.key_errors);
}

void Metrics::write_global(const GlobalReadings& readings, Text& text) {
    text.single(kGlobalUnavailable, readings.unavailable ? 1 : 0);
    text.single(kGlobalPublishUnavailable, readings.publish_unavailable ? 1 : 0);
    text.single(kGlobalImportUnavailable, readings.import_unavailable ? 1 : 0);
    text.single(kGlobalBreakerOpen, readings.breaker_open ? 1 : 0);
    text.single(kGlobalPublishBreakerOpen, readings.publish_breaker_open ? 1 : 0);
    text.single(kGlobalImportBreakerOpen, readings.import_breaker_open ? 1 : 0);
    text.single(kGlobalWrites, readings.writes);
    text.single(kGlobalWriteErrors, readings.write_errors);
    text.single(kGlobalWritesGivenUp, readings.writes_given_up);
    text.single(kGlobalRowsRefused, readings.rows_refused);
    text.single(kGlobalRepublishes, readings.republishes);
    text.single(kGlobalRowsForgotten, readings.rows_forgotten);
    text.single(kGlobalRowsApplied, readings.rows_applied);
    text.single(kGlobalImportErrors, readings.import_errors);
    text.single(kGlobalCells, readings.cells_held);
    text.single(kGlobalCellsDropped, readings.cells_dropped);
    text.single(kGlobalRegions, readings.regions);
    text.single(kGlobalRowsLastPoll, readings.rows_last_poll);
    text.single(kGlobalRowsCleaned, readings.rows_cleaned);
    for (const auto& [name, seconds] : {std::pair{&kGlobalPublishLag, readings.publish_lag},
                                        std::pair{&kGlobalSincePublish, readings.since_publish},
                                        std::pair{&kGlobalImportLag, readings.import_lag}}) {
        text.begin(*name);
        text.sample({}, seconds);
    }
}

void Metrics::write_bus(const BusReadings& readings, Text& text) {
    text.single(kBusUnavailable, readings.unavailable ? 1 : 0);
    text.single(kBusMessagesSent, readings.messages_sent);
    text.single(kBusAnnouncementsSent, readings.announcements_sent);
    text.single(kBusAnnouncementsUnsent, readings.announcements_unsent);
    text.single(kBusAnnouncementsOverflowed, readings.announcements_overflowed);
    text.single(kBusMessagesReceived, readings.messages_received);
    text.single(kBusAnnouncementsReceived, readings.announcements_received);
    text.single(kBusOwnRegion, readings.own_region);
    text.single(kBusMalformed, readings.malformed);
    text.single(kBusForeign, readings.foreign);
    text.single(kBusReceiveOverflowed, readings.receive_overflowed);
    text.single(kBusReconnects, readings.reconnects);
}

void Metrics::write_overrides(const Readings& readings, Text& text) const {
    text.single(kOverridesHeld, readings.overrides_held);
    text.begin(kOverrideWrites);
    write_by<Success>(
        text, {"result", kSuccessTexts}, [](const ThreadMetrics& t) -> auto& {
            return t.override_writes;
        });
}

void Metrics::write_requests(Text& text) const {
    text.begin(kRequestDuration);
    for (std::size_t route = 0; route < kCountOf<Route>; ++route) {
        write_histogram(route, text);
    }
    text.begin(kErrors);
    write_by<ErrorKind>(
        text, {"kind", kErrorTexts}, [](const ThreadMetrics& t) -> auto& { return t.errors; });
}

// The buckets are read once, so that the count is the last bucket whatever is observed meanwhile.
void Metrics::write_histogram(std::size_t route, Text& text) const {
    const std::string_view name = kRouteTexts[route];
    std::uint64_t so_far = 0;
    for (std::size_t bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
        so_far += sum([&](const ThreadMetrics& t) { return t.by_route[route].read(bucket); });
        const std::string bound = bucket < Histogram::kBounds.size()
                                      ? to_text(Seconds(Histogram::kBounds[bucket]).count())
                                      : "+Inf";
        text.sample({{"route", name}, {"le", bound}}, so_far, "_bucket");
    }
    const std::uint64_t took =
        sum([&](const ThreadMetrics& t) { return t.by_route[route].sum_ns(); });
    text.sample({{"route", name}}, static_cast<double>(took) / 1e9, "_sum");
    text.sample({{"route", name}}, so_far, "_count");
}

void Metrics::write_connections(const ConnectionReadings& readings, Text& text) {
    text.single(kConnectionsOpen, readings.open);
    text.single(kConnectionsAccepted, readings.accepted);
    text.single(kConnectionsRefused, readings.refused);
    text.single(kConnectionsEvicted, readings.evicted);
    text.single(kConnectionsShed, readings.shed);
    text.single(kBufferedBytes, readings.buffered_bytes);
    text.single(kAcceptFailures, readings.accept_failures);
    text.single(kTimeouts, readings.timeouts);
    text.single(kHandshakeFailures, readings.handshake_failures);
}

void Metrics::write_grpc(const GrpcReadings& readings, Text& text) {
    text.single(kGrpcCalls, readings.calls);
    text.single(kGrpcRefused, readings.refused);
    text.single(kGrpcCancelled, readings.cancelled);
    text.single(kGrpcExpired, readings.expired);
    text.single(kGrpcFloods, readings.floods);
}

void Metrics::write_trace(const TraceReadings& readings, Text& text) {
    text.single(kTraceUnavailable, readings.unavailable ? 1 : 0);
    text.single(kTraceSent, readings.sent);
    text.single(kTraceDropped, readings.dropped);
}

void Metrics::write_process(const Readings& readings, Text& text) const {
    text.begin(kReloads);
    for (std::size_t i = 0; i < kCountOf<Success>; ++i) {
        text.sample({{"result", kSuccessTexts[i]}}, reloads_[i].load(std::memory_order_relaxed));
    }
    text.single(kLogLinesDropped, readings.log_lines_dropped);
    text.single(kThreadFailures, readings.thread_failures);
    text.single(kNodeReady, readings.ready ? 1 : 0);
    text.single(kThreads, options_.threads);
    text.begin(kUptime);
    text.sample({}, Seconds(std::chrono::steady_clock::now() - started_).count());
    text.begin(kBuildInfo);
    text.sample(
        {{"version", options_.version}, {"compiler", kCompiler}, {"region", options_.region}},
        std::uint64_t{1});
}

}  // namespace sluice::metrics
