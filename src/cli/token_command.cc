#include "cli/token_command.h"

#include <ostream>

#include "cli/json_text.h"
#include "config/file.h"
#include "config/token.h"

namespace sluice::cli {
namespace {

// A JSON string with \u escapes is a TOML string as well.
std::string list_of(const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts)
        list += (list.empty() ? "" : ", ") + json_text(text);
    return "[" + list + "]";
}

}  // namespace

std::string token_lines(const TokenCommand& command, const std::string& secret) {
    return "[[tokens]]\nname = " + json_text(command.name) + "\nsha256 = \"" +
           config::to_hex(config::sha256_of(secret)) +
           "\"\nworkspace = " + json_text(command.workspace) +
           "\nnamespaces = " + list_of(command.namespaces) +
           "\npermissions = " + list_of(command.permissions) + "\n";
}

ExitCode run_token(const TokenCommand& command, std::ostream& out, std::ostream& err) {
    const std::string secret = config::make_secret();
    const std::string lines = token_lines(command, secret);
    // The server's own reader judges them, so that what is printed can be pasted.
    config::Problems problems;
    config::parse_file(lines, "token", problems);
    for (const std::string& problem : problems)
        err << "sluice token: " << problem << "\n";
    if (!problems.empty()) return ExitCode::kError;

    err << "The token, which is shown this once; give it to the client:\n\n    " << secret
        << "\n\nThe server keeps its hash alone: append the lines on standard output to its file, "
           "then send it SIGHUP.\n\n"
        << std::flush;
    out << lines << std::flush;
    if (!out) {
        err << "sluice token: the lines could not be written to standard output; discard the "
               "token\n";
        return ExitCode::kError;
    }
    return ExitCode::kOk;
}

}  // namespace sluice::cli
