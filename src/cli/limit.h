// `sluice limit`: one decision from a running server.
#ifndef SLUICE_CLI_LIMIT_H_
#define SLUICE_CLI_LIMIT_H_

#include <sluice/time.h>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "cli/exit_code.h"
#include "cli/http_client.h"

namespace sluice::cli {

enum class Output { kText, kJson };

struct LimitQuestion {
    std::string name_space;
    std::string identifier;
    std::int64_t limit = 0;
    std::chrono::milliseconds duration{};
    std::int64_t cost = 1;
};

// The request's body.
std::string to_json(const LimitQuestion& question);

// Tells what the server answered: on `out` a decision, on `err` anything else.
ExitCode report_decision(
    const HttpAnswer& answer, Output output, UnixTime now, std::ostream& out, std::ostream& err);

struct LimitCommand {
    Target target;
    LimitQuestion question;
    std::chrono::milliseconds timeout{5'000};
    Output output = Output::kText;
};
ExitCode run_limit(const LimitCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_LIMIT_H_
