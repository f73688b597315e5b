// The settings of `sluice serve`, with their defaults.
#ifndef SLUICE_CONFIG_SETTINGS_H_
#define SLUICE_CONFIG_SETTINGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/address.h"
#include "config/token.h"
#include "log/log.h"

namespace sluice::config {

struct LogSettings {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
    bool requests = false;  // one line per request

    bool operator==(const LogSettings&) const = default;
};

// Paths of PEM files. All are empty if the server uses plain HTTP.
struct TlsSettings {
    std::string cert;
    std::string key;
    std::string client_ca{};  // empty: clients need no certificate

    bool enabled() const { return !cert.empty(); }
    bool operator==(const TlsSettings&) const = default;
};

// Paths of PEM files for a TLS origin, or empty.
struct OriginTlsSettings {
    std::string ca;
    std::string cert;
    std::string key;

    bool operator==(const OriginTlsSettings&) const = default;
};

// Paths of PEM files for a tls:// bus, or empty.
struct BusTlsSettings {
    std::string ca;
    std::string cert;
    std::string key;

    bool operator==(const BusTlsSettings&) const = default;
};

// PEM files for an xdss:// server of rules, or empty; and the name that its certificate must have,
// empty for that of the URL.
struct RulesTlsSettings {
    std::string ca;
    std::string cert;
    std::string key;
    std::string server_name;

    bool operator==(const RulesTlsSettings&) const = default;
};

// Three header fields about a limit.
struct LimitHeaderSettings {
    bool enabled = false;
    std::string limit = "RateLimit-Limit";
    std::string remaining = "RateLimit-Remaining";
    std::string reset = "RateLimit-Reset";

    bool operator==(const LimitHeaderSettings&) const = default;
};

// The answers of the rate-limit service.
struct RlsSettings {
    enum class Counting { kEach, kAllOrNothing };

    std::string workspace = "default";
    Counting counting = Counting::kEach;
    bool count_denied = true;  // where each descriptor counts by itself
    bool shadow_mode = false;
    bool quota_mode = false;
    bool merge_domains = false;
    bool dynamic_metadata = false;
    bool needs_rules = false;  // to be healthy
    bool ietf_headers = false;
    LimitHeaderSettings response_headers{};
    LimitHeaderSettings request_headers{};

    bool operator==(const RlsSettings&) const = default;
};

// Limits for slow or hostile clients.
struct HttpSettings {
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds body_timeout{30'000};
    // Longer than clients keep idle connections (Node.js 4 seconds, proxies a minute). If the
    // server closes first, a request may be lost and sent, and counted, again.
    std::chrono::milliseconds idle_timeout{75'000};
    std::chrono::milliseconds write_timeout{30'000};
    std::size_t max_connections = 100'000;                 // over all threads
    std::size_t max_pipelined = 64;                        // pending requests of one connection
    std::size_t max_buffered_bytes = 256UL * 1024 * 1024;  // over all threads

    bool operator==(const HttpSettings&) const = default;
};

struct GrpcSettings {
    std::optional<Address> listen{};  // none: gRPC is not served
    bool insecure = false;            // other machines need no client certificate
    std::size_t max_streams = 1'000;  // of one connection
    std::size_t max_message_bytes = 1024UL * 1024;
    std::chrono::milliseconds idle_timeout{300'000};
    // Clients behind a load balancer connect again, so that new nodes get their part.
    std::chrono::milliseconds max_connection_age{3'600'000};
    std::chrono::milliseconds max_connection_age_grace{30'000};

    bool operator==(const GrpcSettings&) const = default;
};

// Spans of decisions that waited.
struct TraceSettings {
    std::string endpoint{};    // URL of a collector; empty: none are sent
    std::size_t one_in = 100;  // of the requests that bring no trace
    bool identifiers = false;  // spans name what was limited

    bool operator==(const TraceSettings&) const = default;
};

struct Settings {
    Address listen{"127.0.0.1", 8080};
    std::optional<Address> admin_listen{};  // none: no metrics are served
    std::string region = "local";
    std::string data_dir;  // empty: everything is kept in memory
    std::string origin{};  // empty: a file in data_dir, or none
    std::chrono::milliseconds origin_timeout{300};
    OriginTlsSettings origin_tls{};
    std::string global{};          // empty: a single region; overrides are stored by each node
    std::string global_replica{};  // empty: counts are read from `global`
    bool global_cleanup = false;
    std::size_t global_max_cells = 500'000;
    std::size_t global_min_regions = 2;
    std::string bus{};              // empty: regions see each other's counts through `global` alone
    std::string bus_credentials{};  // the path of a NATS credentials file, or empty
    BusTlsSettings bus_tls{};
    std::vector<std::string> bus_workspaces{};  // empty: announcements of all are received
    std::string rules{};                        // empty: there is no rate-limit service
    RulesTlsSettings rules_tls{};
    RlsSettings rls{};
    std::size_t threads = 0;  // 0: one per core
    std::size_t max_keys = 1'000'000;
    std::chrono::milliseconds drain_timeout{10'000};
    bool test_clock = false;
    std::chrono::milliseconds test_global_interval{0};  // 0: as in production
    bool behind_proxy = false;                          // a proxy in front terminates TLS
    bool insecure_http = false;                         // accept tokens over plain HTTP
    std::vector<std::string> allowed_hosts{};           // on loopback, besides loopback names
    TlsSettings tls;
    LogSettings log;
    HttpSettings http;
    GrpcSettings grpc{};
    TraceSettings trace{};
    std::vector<Token> tokens;  // empty: no token is needed

    bool operator==(const Settings&) const = default;
};

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_SETTINGS_H_
