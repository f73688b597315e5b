// `sluice check-config`: says what `sluice serve` would say about a file.
#ifndef SLUICE_CLI_CHECK_CONFIG_H_
#define SLUICE_CLI_CHECK_CONFIG_H_

#include <iosfwd>

#include "cli/exit_code.h"
#include "config/load.h"

namespace sluice::cli {

// Prints the settings that hold, each with where it comes from; or what is wrong.
ExitCode run_check_config(const config::Sources& sources, std::ostream& out, std::ostream& err);

// Prints what is wrong with settings, one problem per line.
void print_problems(std::string_view command, const Error& error, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_CHECK_CONFIG_H_
