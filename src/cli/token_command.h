// `sluice token`: makes a token and the lines that let a server know it.
#ifndef SLUICE_CLI_TOKEN_COMMAND_H_
#define SLUICE_CLI_TOKEN_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace sluice::cli {

struct TokenCommand {
    std::string name = "my-token";
    std::string workspace = "default";
    std::vector<std::string> namespaces{"*"};
    std::vector<std::string> permissions{"limit"};
};

// The lines of a [[tokens]] table that grants what `command` says to the bearer of `secret`.
std::string token_lines(const TokenCommand& command, const std::string& secret);

// Prints a new secret, which nobody keeps, to `err` and its lines to `out`, which may be the
// server's file. kError where they would not be valid.
ExitCode run_token(const TokenCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_TOKEN_COMMAND_H_
