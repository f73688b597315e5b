// The command line of `sluice`.
#ifndef SLUICE_CLI_PROGRAM_H_
#define SLUICE_CLI_PROGRAM_H_

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace sluice::cli {

// Where a program reads and writes, apart from files and the network.
struct Environment {
    std::map<std::string, std::string> environment;  // what begins with SLUICE_
    std::ostream& out;
    std::ostream& err;
};

// Does what the arguments ask for; they don't contain the program's own name.
ExitCode run_program(std::vector<std::string> arguments, const Environment& environment);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_PROGRAM_H_
