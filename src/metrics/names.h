// Every metric that Sluice exports: its name, its type, its labels and what it means.
// docs/metrics.md shows the same list to operators. No label ever holds an identifier, a namespace
// or anything else that a client chooses.
#ifndef SLUICE_METRICS_NAMES_H_
#define SLUICE_METRICS_NAMES_H_

#include <array>
#include <cstddef>
#include <string_view>

namespace sluice::metrics {

enum class Type { kCounter, kGauge, kHistogram };

struct Name {
    std::string_view name;
    Type type;
    std::string_view help;
};

// clang-format off
inline constexpr Name kDecisions{"sluice_decisions_total", Type::kCounter,
    "Decisions, by where the counts came from and how they ended. Each item of a batch is one."};
inline constexpr Name kOverridden{"sluice_decisions_overridden_total", Type::kCounter,
    "Decisions for which an override replaced the requested limit."};

inline constexpr Name kKeysHeld{"sluice_keys_held", Type::kGauge,
    "Keys in memory. A key holds the windows of one workspace, namespace, identifier and duration."};
inline constexpr Name kKeysCreated{"sluice_keys_created_total", Type::kCounter,
    "Keys created because a request named them."};
inline constexpr Name kKeysExpired{"sluice_keys_expired_total", Type::kCounter,
    "Keys removed after their counts had ceased to matter."};
inline constexpr Name kKeysStartedOver{"sluice_keys_started_over_total", Type::kCounter,
    "Keys whose counts were dropped because the clock had stepped back by more than two windows."};
inline constexpr Name kKeysEvicted{"sluice_keys_evicted_total", Type::kCounter,
    "Keys displaced at the cap although their counts still mattered."};
inline constexpr Name kKeysEvictedUnsynced{"sluice_keys_evicted_unsynced_total", Type::kCounter,
    "Keys evicted at twice the cap, while the origin was unavailable, with counts it had not acknowledged."};
inline constexpr Name kCasRetries{"sluice_cas_retries_total", Type::kCounter,
    "Decisions repeated because another thread changed the same counts first."};
inline constexpr Name kStrictActivations{"sluice_strict_activations_total", Type::kCounter,
    "Keys that a denial put into strict mode."};

inline constexpr Name kOriginUnavailable{"sluice_origin_unavailable", Type::kGauge,
    "1 while the origin does not answer or fails too often and decisions are made from memory alone, else 0."};
inline constexpr Name kOriginNodes{"sluice_origin_nodes", Type::kGauge,
    "Nodes that share the limits of this region, by their heartbeats at the origin; 0 while that is not known."};
inline constexpr Name kOriginOldestUnsynced{"sluice_origin_oldest_unsynced_seconds", Type::kGauge,
    "Age of the oldest pass that the origin has not acknowledged; 0 if there is none."};
inline constexpr Name kOriginClockOffset{"sluice_origin_clock_offset_seconds", Type::kGauge,
    "How far the origin's clock is ahead of this node's."};
inline constexpr Name kOriginSpends{"sluice_origin_spends_total", Type::kCounter,
    "Requests decided by the origin."};
inline constexpr Name kOriginSpendCalls{"sluice_origin_spend_calls_total", Type::kCounter,
    "Calls that had the origin decide all requests waiting for a key."};
inline constexpr Name kOriginFlushed{"sluice_origin_flushed_total", Type::kCounter,
    "Keys whose counts were written to the origin and acknowledged, repetitions included."};
inline constexpr Name kOriginUnanswered{"sluice_origin_unanswered_total", Type::kCounter,
    "Keys for which a call to the origin was not answered."};
inline constexpr Name kOriginFallbacks{"sluice_origin_fallbacks_total", Type::kCounter,
    "Decisions that needed the origin and were made from local counts."};
inline constexpr Name kOriginQueueOverflows{"sluice_origin_queue_overflows_total", Type::kCounter,
    "Decisions made without the origin because too many requests waited for it already."};
inline constexpr Name kOriginOutages{"sluice_origin_outages_total", Type::kCounter,
    "How often the origin became unavailable."};
inline constexpr Name kOriginResubmissions{"sluice_origin_resubmissions_total", Type::kCounter,
    "How often all counts were written again because the origin may have lost data."};
inline constexpr Name kOriginKeyErrors{"sluice_origin_key_errors_total", Type::kCounter,
    "Calls that the origin could not serve because of their key alone."};

inline constexpr Name kGlobalUnavailable{"sluice_global_unavailable", Type::kGauge,
    "1 while the global store fails and regions don't see each other's new counts, else 0."};
inline constexpr Name kGlobalPublishUnavailable{"sluice_global_publish_unavailable", Type::kGauge,
    "1 while publishing to the global store fails, else 0."};
inline constexpr Name kGlobalImportUnavailable{"sluice_global_import_unavailable", Type::kGauge,
    "1 while imports from the global store fail, else 0."};
inline constexpr Name kGlobalPublishBreakerOpen{"sluice_global_publish_breaker_open", Type::kGauge,
    "1 while publishing failed so often that it pauses, else 0."};
inline constexpr Name kGlobalImportBreakerOpen{"sluice_global_import_breaker_open", Type::kGauge,
    "1 while imports failed so often that they pause, else 0."};
inline constexpr Name kGlobalBreakerOpen{"sluice_global_breaker_open", Type::kGauge,
    "1 while calls to the global store pause after failures, else 0."};
inline constexpr Name kGlobalWrites{"sluice_global_writes_total", Type::kCounter,
    "Rows published to the global store."};
inline constexpr Name kGlobalWriteErrors{"sluice_global_write_errors_total", Type::kCounter,
    "Statements to publish rows that failed; their rows stay to be published."};
inline constexpr Name kGlobalWritesGivenUp{"sluice_global_writes_given_up_total", Type::kCounter,
    "Rows never published: they ceased to matter before the global store took them, or were too many."};
inline constexpr Name kGlobalRowsRefused{"sluice_global_rows_refused_total", Type::kCounter,
    "Rows that the global store refused and that are not published until their counts grow."};
inline constexpr Name kGlobalRepublishes{"sluice_global_republishes_total", Type::kCounter,
    "How often all rows were published again because a new connection to the global store was made."};
inline constexpr Name kGlobalRowsForgotten{"sluice_global_rows_forgotten_total", Type::kCounter,
    "Published rows that are not published again if the global store loses them: too many were remembered."};
inline constexpr Name kGlobalRowsApplied{"sluice_global_import_rows_applied_total", Type::kCounter,
    "Rows imported from the global store and merged."};
inline constexpr Name kGlobalImportErrors{"sluice_global_import_errors_total", Type::kCounter,
    "Imports from the global store that failed."};
inline constexpr Name kGlobalCells{"sluice_global_cells", Type::kGauge,
    "Cells of which the components of other regions are kept."};
inline constexpr Name kGlobalCellsDropped{"sluice_global_cells_dropped_total", Type::kCounter,
    "Cells whose components were dropped because more than global_max_cells were kept."};
inline constexpr Name kGlobalRegions{"sluice_global_regions", Type::kGauge,
    "Regions that share the limits, as the global store counts them."};
inline constexpr Name kGlobalRowsLastPoll{"sluice_global_rows_last_poll", Type::kGauge,
    "Rows that the last successful import returned."};
inline constexpr Name kGlobalRowsCleaned{"sluice_global_rows_cleaned_total", Type::kCounter,
    "Expired rows deleted from the global store by this node."};
inline constexpr Name kGlobalPublishLag{"sluice_global_publish_lag_seconds", Type::kGauge,
    "For how long something has waited to be published because the global store failed; 0 if nothing has."};
inline constexpr Name kGlobalSincePublish{"sluice_global_last_publish_age_seconds", Type::kGauge,
    "Time since all due rows were published; -1 if they never were."};
inline constexpr Name kGlobalImportLag{"sluice_global_import_lag_seconds", Type::kGauge,
    "Since the last successful import: how old the counts of other regions are; -1 if there was none."};

inline constexpr Name kBusUnavailable{"sluice_bus_unavailable", Type::kGauge,
    "1 while there is no working connection to the bus and the global store alone carries counts, else 0."};
inline constexpr Name kBusMessagesSent{"sluice_bus_messages_sent_total", Type::kCounter,
    "Messages sent over the bus."};
inline constexpr Name kBusAnnouncementsSent{"sluice_bus_announcements_sent_total", Type::kCounter,
    "Counts in messages sent over the bus."};
inline constexpr Name kBusAnnouncementsUnsent{"sluice_bus_announcements_unsent_total", Type::kCounter,
    "Counts not announced because there was no connection to the bus."};
inline constexpr Name kBusAnnouncementsOverflowed{"sluice_bus_announcements_overflowed_total", Type::kCounter,
    "Counts not announced because too many waited; the oldest are dropped."};
inline constexpr Name kBusMessagesReceived{"sluice_bus_messages_received_total", Type::kCounter,
    "Messages of other regions received over the bus."};
inline constexpr Name kBusAnnouncementsReceived{"sluice_bus_announcements_received_total", Type::kCounter,
    "Counts in messages of other regions received over the bus."};
inline constexpr Name kBusOwnRegion{"sluice_bus_own_region_messages_total", Type::kCounter,
    "Messages of this region received over the bus, which never enter the counts of other regions."};
inline constexpr Name kBusMalformed{"sluice_bus_malformed_messages_total", Type::kCounter,
    "Messages on the bus dropped because they were invalid."};
inline constexpr Name kBusForeign{"sluice_bus_foreign_messages_total", Type::kCounter,
    "Messages on the bus dropped because they were of another version."};
inline constexpr Name kBusReceiveOverflowed{"sluice_bus_receive_overflowed_total", Type::kCounter,
    "Messages on the bus dropped because they came faster than they were merged."};
inline constexpr Name kBusReconnects{"sluice_bus_reconnects_total", Type::kCounter,
    "How often the connection to the bus was made again."};

inline constexpr Name kOverridesHeld{"sluice_overrides_held", Type::kGauge,
    "Overrides that are set."};
inline constexpr Name kOverrideWrites{"sluice_override_writes_total", Type::kCounter,
    "Calls that set or deleted an override, by whether the store took them."};

inline constexpr Name kRequestDuration{"sluice_http_request_duration_seconds", Type::kHistogram,
    "Time it took to make an answer once the request had been read, by route."};
inline constexpr Name kErrors{"sluice_http_errors_total", Type::kCounter,
    "Requests answered with an error, by its kind. A denial is none."};
inline constexpr Name kConnectionsOpen{"sluice_http_connections_open", Type::kGauge,
    "Connections that are open."};
inline constexpr Name kConnectionsAccepted{"sluice_http_connections_accepted_total", Type::kCounter,
    "Connections accepted."};
inline constexpr Name kConnectionsRefused{"sluice_http_connections_refused_total", Type::kCounter,
    "Connections refused because as many as allowed were open and none was idle."};
inline constexpr Name kConnectionsEvicted{"sluice_http_connections_evicted_total", Type::kCounter,
    "Idle connections closed to admit new ones because as many as allowed were open."};
inline constexpr Name kConnectionsShed{"sluice_http_connections_shed_total", Type::kCounter,
    "Connections closed to keep the buffered bytes within their limit, the largest first."};
inline constexpr Name kBufferedBytes{"sluice_http_buffered_bytes", Type::kGauge,
    "Memory allocated for unfinished requests, unsent answers and TLS records."};
inline constexpr Name kAcceptFailures{"sluice_http_accept_failures_total", Type::kCounter,
    "Connections that the system had no descriptor or memory for."};
inline constexpr Name kTimeouts{"sluice_http_timeouts_total", Type::kCounter,
    "Connections closed because the client was too slow to send a request or to take its answer."};
inline constexpr Name kHandshakeFailures{"sluice_http_tls_handshake_failures_total", Type::kCounter,
    "TLS connections that ended before the handshake did."};

inline constexpr Name kGrpcCalls{"sluice_grpc_calls_total", Type::kCounter,
    "gRPC calls handed to a method."};
inline constexpr Name kGrpcRefused{"sluice_grpc_calls_refused_total", Type::kCounter,
    "gRPC calls answered with an error before a method was called."};
inline constexpr Name kGrpcCancelled{"sluice_grpc_calls_cancelled_total", Type::kCounter,
    "gRPC calls that the client reset, or whose connection ended, before the answer was sent."};
inline constexpr Name kGrpcExpired{"sluice_grpc_calls_expired_total", Type::kCounter,
    "gRPC calls answered with DEADLINE_EXCEEDED because their answer was not there in time."};
inline constexpr Name kGrpcFloods{"sluice_grpc_floods_total", Type::kCounter,
    "gRPC connections closed because of too many pings, resets or other control frames."};

inline constexpr Name kTraceUnavailable{"sluice_trace_unavailable", Type::kGauge,
    "1 while the collector of traces does not take spans, else 0."};
inline constexpr Name kTraceSent{"sluice_trace_spans_sent_total", Type::kCounter,
    "Spans that the collector took."};
inline constexpr Name kTraceDropped{"sluice_trace_spans_dropped_total", Type::kCounter,
    "Spans that found the queue full, or that the collector did not take."};

inline constexpr Name kReloads{"sluice_reloads_total", Type::kCounter,
    "Reloads of the configuration, by whether the new one was taken."};
inline constexpr Name kLogLinesDropped{"sluice_log_lines_dropped_total", Type::kCounter,
    "Log lines dropped because standard error did not take them in time."};
inline constexpr Name kThreadFailures{"sluice_thread_failures_total", Type::kCounter,
    "Exceptions that background threads have survived, most likely for lack of memory."};
inline constexpr Name kNodeReady{"sluice_ready", Type::kGauge,
    "1 while the node takes requests, 0 while it starts or drains."};
inline constexpr Name kThreads{"sluice_threads", Type::kGauge,
    "Threads that serve requests."};
inline constexpr Name kUptime{"sluice_uptime_seconds", Type::kGauge,
    "Time since the process started."};
inline constexpr Name kBuildInfo{"sluice_build_info", Type::kGauge,
    "Always 1; the labels identify the build."};
// Old names, for one version.
inline constexpr Name kOldOriginUnavailable{"sluice_origin_away", Type::kGauge,
    "Deprecated, gone in 0.3: sluice_origin_unavailable replaces it."};
inline constexpr Name kOldGlobalUnavailable{"sluice_global_away", Type::kGauge,
    "Deprecated, gone in 0.3: sluice_global_unavailable replaces it."};
inline constexpr Name kOldKeysEvictedUnsynced{"sluice_keys_evicted_untold_total", Type::kCounter,
    "Deprecated, gone in 0.3: sluice_keys_evicted_unsynced_total replaces it."};
inline constexpr Name kOldGlobalCellsDropped{"sluice_global_import_cells_dropped_total", Type::kCounter,
    "Deprecated, gone in 0.3: sluice_global_cells_dropped_total replaces it."};
// clang-format on

inline constexpr std::array kAllNames = {
    kDecisions,
    kOverridden,
    kKeysHeld,
    kKeysCreated,
    kKeysExpired,
    kKeysStartedOver,
    kKeysEvicted,
    kKeysEvictedUnsynced,
    kCasRetries,
    kStrictActivations,
    kOriginUnavailable,
    kOriginNodes,
    kOriginOldestUnsynced,
    kOriginClockOffset,
    kOriginSpends,
    kOriginSpendCalls,
    kOriginFlushed,
    kOriginUnanswered,
    kOriginFallbacks,
    kOriginQueueOverflows,
    kOriginOutages,
    kOriginResubmissions,
    kOriginKeyErrors,
    kGlobalUnavailable,
    kGlobalPublishUnavailable,
    kGlobalImportUnavailable,
    kGlobalBreakerOpen,
    kGlobalPublishBreakerOpen,
    kGlobalImportBreakerOpen,
    kGlobalWrites,
    kGlobalWriteErrors,
    kGlobalWritesGivenUp,
    kGlobalRowsRefused,
    kGlobalRepublishes,
    kGlobalRowsForgotten,
    kGlobalRowsApplied,
    kGlobalImportErrors,
    kGlobalCells,
    kGlobalCellsDropped,
    kGlobalRegions,
    kGlobalRowsLastPoll,
    kGlobalRowsCleaned,
    kGlobalPublishLag,
    kGlobalSincePublish,
    kGlobalImportLag,
    kBusUnavailable,
    kBusMessagesSent,
    kBusAnnouncementsSent,
    kBusAnnouncementsUnsent,
    kBusAnnouncementsOverflowed,
    kBusMessagesReceived,
    kBusAnnouncementsReceived,
    kBusOwnRegion,
    kBusMalformed,
    kBusForeign,
    kBusReceiveOverflowed,
    kBusReconnects,
    kOverridesHeld,
    kOverrideWrites,
    kRequestDuration,
    kErrors,
    kConnectionsOpen,
    kConnectionsAccepted,
    kConnectionsRefused,
    kConnectionsEvicted,
    kConnectionsShed,
    kBufferedBytes,
    kAcceptFailures,
    kTimeouts,
    kHandshakeFailures,
    kGrpcCalls,
    kGrpcRefused,
    kGrpcCancelled,
    kGrpcExpired,
    kGrpcFloods,
    kTraceUnavailable,
    kTraceSent,
    kTraceDropped,
    kReloads,
    kLogLinesDropped,
    kThreadFailures,
    kNodeReady,
    kThreads,
    kUptime,
    kBuildInfo,
    kOldOriginUnavailable,
    kOldGlobalUnavailable,
    kOldKeysEvictedUnsynced,
    kOldGlobalCellsDropped,
};

// The values of the labels. Each enumeration begins at 0 and ends with its count, so that it can
// index an array; the texts below stand in the same order.
enum class Source { kLocal, kOrigin, kCount };
enum class Outcome { kPassed, kDenied, kCount };
enum class Route {
    kLimit,
    kMultiLimit,
    kInspect,
    kSetOverride,
    kGetOverride,
    kListOverrides,
    kDeleteOverride,
    kJson,
    kHealthcheck,
    kHealth,
    kReady,
    kMetrics,
    kPage,
    kTopKeys,
    kOverrideLog,
    kCaller,
    kStatus,
    kTraffic,
    kFleet,
    kEvents,
    kUnknown,  // no such route, or no request that could be read
    kCount
};
enum class ErrorKind {
    kInvalidRequest,    // 400: the body is no JSON, or a field is wrong
    kMalformedHttp,     // 400: not HTTP, or a form that is refused
    kUnauthorized,      // 401
    kForbidden,         // 403
    kNotFound,          // 404: no such route or override
    kMethodNotAllowed,  // 405
    kTimeout,           // 408
    kBodyTooLarge,      // 413
    kUnsupportedMedia,  // 415
    kMisdirected,       // 421: a foreign host
    kHeaderTooLarge,    // 431
    kInternal,          // 500
    kUnavailable,       // 503
    kHttpVersion,       // 505
    kOther,
    kCount
};
enum class Success { kOk, kFailed, kCount };

template <class Label>
inline constexpr std::size_t kCountOf = static_cast<std::size_t>(Label::kCount);

template <class Label>
using Texts = std::array<std::string_view, kCountOf<Label>>;

inline constexpr Texts<Source> kSourceTexts = {"local", "origin"};
inline constexpr Texts<Outcome> kOutcomeTexts = {"passed", "denied"};
inline constexpr Texts<Route> kRouteTexts = {
    "limit",          "multiLimit", "inspect",     "setOverride", "getOverride", "listOverrides",
    "deleteOverride", "json",       "healthcheck", "healthz",     "readyz",      "metrics",
    "page",           "topKeys",    "overrideLog", "caller",      "status",      "traffic",
    "fleet",          "events",     "unknown"};
inline constexpr Texts<ErrorKind> kErrorTexts = {"invalid_request",
                                                 "malformed_http",
                                                 "unauthorized",
                                                 "forbidden",
                                                 "not_found",
                                                 "method_not_allowed",
                                                 "timeout",
                                                 "body_too_large",
                                                 "unsupported_media_type",
                                                 "misdirected_request",
                                                 "header_too_large",
                                                 "internal",
                                                 "unavailable",
                                                 "http_version",
                                                 "other"};
inline constexpr Texts<Success> kSuccessTexts = {"ok", "failed"};

// The kind of an error that is known by its HTTP status alone.
constexpr ErrorKind error_kind_of(int status) {
    switch (status) {
        case 400:
            return ErrorKind::kInvalidRequest;
        case 401:
            return ErrorKind::kUnauthorized;
        case 403:
            return ErrorKind::kForbidden;
        case 404:
            return ErrorKind::kNotFound;
        case 405:
            return ErrorKind::kMethodNotAllowed;
        case 408:
            return ErrorKind::kTimeout;
        case 413:
            return ErrorKind::kBodyTooLarge;
        case 415:
            return ErrorKind::kUnsupportedMedia;
        case 421:
            return ErrorKind::kMisdirected;
        case 431:
            return ErrorKind::kHeaderTooLarge;
        case 500:
            return ErrorKind::kInternal;
        case 503:
            return ErrorKind::kUnavailable;
        case 505:
            return ErrorKind::kHttpVersion;
        default:
            return ErrorKind::kOther;
    }
}

}  // namespace sluice::metrics

#endif  // SLUICE_METRICS_NAMES_H_
