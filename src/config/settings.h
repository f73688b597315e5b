// Everything that can be set about `sluice serve`, with the values that hold where nothing is set.
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

// All paths are empty where the server speaks plain HTTP.
struct TlsSettings {
    std::string cert;
    std::string key;
    std::string client_ca{};  // empty: clients need no certificate

    bool enabled() const { return !cert.empty(); }
    bool operator==(const TlsSettings&) const = default;
};

// How a TLS origin is reached; each is a path, or empty.
struct OriginTlsSettings {
    std::string ca;
    std::string cert;
    std::string key;

    bool operator==(const OriginTlsSettings&) const = default;
};

// What a slow or hostile client is granted.
struct HttpSettings {
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds body_timeout{30'000};
    // Node's clients keep an idle connection for 4 seconds, proxies for a minute. A server that is
    // first to close one makes them lose a request, and send and count it again.
    std::chrono::milliseconds idle_timeout{75'000};
    std::chrono::milliseconds write_timeout{30'000};
    std::size_t max_connections = 100'000;  // over all threads
    std::size_t max_pipelined = 64;  // requests of one connection that wait for their answers
    std::size_t max_buffered_bytes = 256UL * 1024 * 1024;  // over all threads

    bool operator==(const HttpSettings&) const = default;
};

struct Settings {
    Address listen{"127.0.0.1", 8080};
    std::optional<Address> admin_listen{};  // none: no metrics are served
    std::string region = "local";
    std::string data_dir;  // empty: everything stays in memory
    std::string origin{};  // empty: a file in data_dir, or none
    std::chrono::milliseconds origin_timeout{300};
    OriginTlsSettings origin_tls{};
    std::string global{};          // empty: this region is alone, and overrides are this node's own
    std::string global_replica{};  // empty: what `global` names is read from as well
    bool global_cleanup = false;
    std::size_t threads = 0;  // 0: one per core
    std::size_t max_keys = 1'000'000;
    std::chrono::milliseconds drain_timeout{10'000};
    bool test_clock = false;
    std::chrono::milliseconds test_global_interval{0};  // 0: as in production
    bool behind_proxy = false;                 // a proxy in front speaks TLS and picks hosts
    bool insecure_http = false;                // tokens may cross the network in plain HTTP
    std::vector<std::string> allowed_hosts{};  // on loopback, besides loopback's own
    TlsSettings tls;
    LogSettings log;
    HttpSettings http;
    std::vector<Token> tokens;  // empty: no token is needed

    bool operator==(const Settings&) const = default;
};

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_SETTINGS_H_
