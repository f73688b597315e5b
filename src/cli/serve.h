// `sluice serve`: puts the server together and runs it.
#ifndef SLUICE_CLI_SERVE_H_
#define SLUICE_CLI_SERVE_H_

#include <iosfwd>

#include "cli/exit_code.h"
#include "config/load.h"

namespace sluice::cli {

// Runs until a signal ends it. kError, before anything listens: a setting is not allowed, or what
// it names is of no use; `err` says why. The greeting goes to standard output, log lines to
// standard error, and neither of them can block the server.
ExitCode run_serve(const config::Sources& sources, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_SERVE_H_
