// Random options: many short runs, each with other knobs.
#ifndef SLUICE_SIM_SWARM_H_
#define SLUICE_SIM_SWARM_H_

#include <cstdint>

#include "sim/options.h"

namespace sluice::sim {

// The same for the same seed.
Options swarm_options(std::uint64_t seed);

}  // namespace sluice::sim

#endif  // SLUICE_SIM_SWARM_H_
