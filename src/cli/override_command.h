// `sluice override`: sets, reads, lists and deletes the overrides of a running server.
#ifndef SLUICE_CLI_OVERRIDE_COMMAND_H_
#define SLUICE_CLI_OVERRIDE_COMMAND_H_

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "cli/exit_code.h"
#include "cli/limit.h"

namespace sluice::cli {

enum class OverrideAction { kSet, kGet, kList, kDelete };

struct OverrideCommand {
    OverrideAction action = OverrideAction::kList;
    Target target = {};
    std::string name_space = {};
    std::string identifier = {};  // of all but kList; a pattern may hold *
    std::int64_t limit = 0;       // of kSet, like `duration`
    std::chrono::milliseconds duration{};
    std::chrono::milliseconds timeout{5'000};  // for each request
    Output output = Output::kText;
};

// A list is read page by page to its end. kDenied: the server has no such override.
ExitCode run_override(const OverrideCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_OVERRIDE_COMMAND_H_
