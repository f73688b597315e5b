// `sluice simulate`: a fleet on virtual time, from one seed.
#ifndef SLUICE_CLI_SIMULATE_H_
#define SLUICE_CLI_SIMULATE_H_

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "cli/exit_code.h"

namespace sluice::cli {

struct SimulateCommand {
    std::string scenario = {};                         // a file; empty: the first one
    std::map<std::string, std::string> settings = {};  // by name, without the dashes
    std::vector<std::string> faults = {};
    std::string trace = {};  // a file; empty: none
    bool json = false;
    // Random runs instead, with these seeds.
    std::string swarm = {};
    std::uint64_t runs = 1;
};

// kDenied if a check failed.
ExitCode run_simulate(const SimulateCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_SIMULATE_H_
