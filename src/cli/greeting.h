// What a newcomer reads when the server has started.
#ifndef SLUICE_CLI_GREETING_H_
#define SLUICE_CLI_GREETING_H_

#include <string>

#include "config/settings.h"

namespace sluice::cli {

// The URL at which this machine reaches the server; `settings.listen` holds the real port.
std::string url_of(const config::Settings& settings);

// The address, and a line for a shell that gets a decision.
std::string greeting(const config::Settings& settings);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_GREETING_H_
