// The command line of `sluice`: finds the command that the arguments name, and runs it.
#ifndef SLUICE_CLI_PROGRAM_H_
#define SLUICE_CLI_PROGRAM_H_

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace sluice::cli {

class Commands;

enum class ExitCode {
    kOk = 0,      // done; for `limit`, the request passed
    kDenied = 1,  // `limit`: the request was denied; `bench`: some requests failed
    kError = 2,   // wrong usage, an invalid setting, or no response
};

// The inputs and outputs of a command, apart from files and the network.
struct Environment {
    std::map<std::string, std::string> environment;  // the variables that begin with SLUICE_
    std::ostream& out;
    std::ostream& err;
};

// Registers one command or several.
using AddCommands = void (*)(Commands&);

// Runs the command that `arguments` name; they don't contain the program's own name. `more` adds
// commands to those of this folder.
ExitCode run_program(std::vector<std::string> arguments,
                     const Environment& environment,
                     const std::vector<AddCommands>& more = {});

}  // namespace sluice::cli

#endif  // SLUICE_CLI_PROGRAM_H_
