// `sluice limit`: gets one decision from a running server.
#ifndef SLUICE_CLI_LIMIT_COMMAND_H_
#define SLUICE_CLI_LIMIT_COMMAND_H_

#include <sluice/time.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/client.h"
#include "cli/program.h"

namespace sluice::cli {

struct LimitParameters {
    std::string name_space;
    std::string identifier;
    std::int64_t limit = 0;
    std::chrono::milliseconds duration{};
    std::int64_t cost = 1;
};

// The body of the request.
std::string to_json(const LimitParameters& parameters);

// Prints the server's response at the time `now`: a decision to standard output, anything else to
// standard error.
ExitCode report_decision(const http::FetchResponse& response,
                         Output output,
                         UnixTime now,
                         const Environment& environment);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_LIMIT_COMMAND_H_
