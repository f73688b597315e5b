// `sluice inspect`: asks a server what it and its region know of one key.
#ifndef SLUICE_CLI_INSPECT_H_
#define SLUICE_CLI_INSPECT_H_

#include <chrono>
#include <iosfwd>
#include <string>

#include "cli/exit_code.h"
#include "cli/limit.h"

namespace sluice::cli {

struct InspectCommand {
    Target target;
    std::string name_space;
    std::string identifier;
    std::chrono::milliseconds duration{};
    std::chrono::milliseconds timeout{};
    Output output = Output::kText;
};

ExitCode run_inspect(const InspectCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_INSPECT_H_
