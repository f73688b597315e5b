// The settings of a node's listeners: their limits, and the rule for Host headers.
#ifndef SLUICE_SERVER_WIRE_SETTINGS_H_
#define SLUICE_SERVER_WIRE_SETTINGS_H_

#include <cstddef>

#include "config/settings.h"
#include "http/api/api.h"
#include "http/wire/limits.h"
#include "log/log.h"

namespace sluice::server {

// Raises the limit of open files to what the system allows, and returns how many connections of
// each listener fit into it, at most http.max_connections. Logs a warning if those are fewer.
std::size_t raise_connection_limit(const config::Settings& settings, Log& log);

// The limits of each serving thread, of which there is at least one.
http::WireLimits wire_limits(const config::Settings& settings, std::size_t connections);

// Those of the admin listener.
http::WireLimits admin_limits(const config::Settings& settings);

// Which Host headers a listener accepts.
http::HostRule host_rule(const config::Settings& settings,
                         const config::Address& address,
                         http::ListenerRole role);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_WIRE_SETTINGS_H_
