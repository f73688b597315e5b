// `sluice simulate`: runs a simulated fleet on virtual time, reproducibly from one seed.
#ifndef SLUICE_PROGRAM_SIMULATE_COMMAND_H_
#define SLUICE_PROGRAM_SIMULATE_COMMAND_H_

#include "cli/commands.h"

namespace sluice::cli {

void add_simulate_command(Commands& commands);

}  // namespace sluice::cli

#endif  // SLUICE_PROGRAM_SIMULATE_COMMAND_H_
