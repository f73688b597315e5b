#include "server/wire_settings.h"

#include <algorithm>

#include <sys/resource.h>

#include "http/api/event_streams.h"

namespace sluice::server {
namespace {

// With less, a thread would close connections that send a few large requests.
constexpr std::size_t kMinBuffered = 4UL * 1024 * 1024;

}  // namespace

// The usual soft limit of 1024 protects programs that use select(); this one doesn't.
std::size_t raise_connection_limit(const config::Settings& settings, Log& log) {
    constexpr rlim_t kReserved = 256;  // files that are not connections
    const std::size_t wanted = settings.http.max_connections;
    const std::size_t listeners = settings.grpc.listen ? 2 : 1;  // each takes that many
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= listeners * wanted + kReserved)
        return wanted;
    const std::size_t files =
        limit.rlim_max > 2 * kReserved ? limit.rlim_max - kReserved : kReserved;
    const std::size_t possible = files / listeners;
    log.warn("few_files",
             {{"why", "the system allows fewer open files than http.max_connections needs"},
              {"files", std::size_t{limit.rlim_max}},
              {"files_needed", listeners * wanted + kReserved},
              {"max_connections", possible}});
    return possible;
}

http::WireLimits wire_limits(const config::Settings& settings, std::size_t connections) {
    http::WireLimits limits;
    const config::HttpSettings& http = settings.http;
    limits.connections = (connections + settings.threads - 1) / settings.threads;
    limits.buffered = std::max(http.max_buffered_bytes / settings.threads, kMinBuffered);
    limits.turn.calls = http.max_pipelined;
    limits.header_timeout = http.header_timeout;
    limits.body_timeout = http.body_timeout;
    limits.idle_timeout = http.idle_timeout;
    limits.write_timeout = http.write_timeout;
    return limits;
}

// Enough for all streams of events, and for a few scrapers and pages at a time.
http::WireLimits admin_limits(const config::Settings& settings) {
    http::WireLimits limits = wire_limits(settings, 0);
    limits.connections = 2 * http::EventStreams::kMost;
    limits.buffered = 2 * kMinBuffered;
    return limits;
}

// A listener on loopback accepts only known Host headers, against DNS rebinding. On other addresses
// requests need a token, which a web site doesn't have.
http::HostRule host_rule(const config::Settings& settings,
                         const config::Address& address,
                         http::ListenerRole role) {
    const bool is_proxied = settings.behind_proxy && role == http::ListenerRole::kPublic;
    if (!config::is_loopback(address)) return {};
    return is_proxied ? http::HostRule::proxied(settings.allowed_hosts)
                      : http::HostRule::local(settings.allowed_hosts);
}

}  // namespace sluice::server
