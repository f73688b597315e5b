// `sluice serve`: runs a node until a signal ends it.
#ifndef SLUICE_SERVER_SERVE_H_
#define SLUICE_SERVER_SERVE_H_

#include <sluice/result.h>

#include <optional>
#include <string>

#include "config/load.h"
#include "config/settings.h"

namespace sluice::server {

// Runs until SIGTERM or SIGINT; SIGHUP reloads the settings. Returns an error before anything
// listens if a setting is invalid or names something unusable, one problem per line. The greeting
// goes to standard output and log lines to standard error; neither can block the server.
std::optional<Error> serve(const config::Sources& sources);

// The URL at which this machine reaches the server. `settings.listen` holds the actual port.
std::string url_of(const config::Settings& settings);

// The text printed at the start: the URL, and a curl command that gets a decision.
std::string greeting(const config::Settings& settings);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_SERVE_H_
