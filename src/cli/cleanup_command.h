// `sluice cleanup`: deletes expired counts from a global store.
#ifndef SLUICE_CLI_CLEANUP_COMMAND_H_
#define SLUICE_CLI_CLEANUP_COMMAND_H_

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>

#include "cli/exit_code.h"

namespace sluice::cli {

struct CleanupCommand {
    std::string global;         // a URL
    std::size_t batch = 1'000;  // the most that one statement deletes
    std::chrono::milliseconds pause{100};
};

// Deletes until nothing is left that has expired, or SIGINT or SIGTERM comes. Prints a line for
// every ten thousand rows, and what it came to.
ExitCode run_cleanup(const CleanupCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_CLEANUP_COMMAND_H_
