// Randomness from the operating system.
#ifndef SLUICE_BASE_RANDOM_H_
#define SLUICE_BASE_RANDOM_H_

#include <cstdint>

namespace sluice {

// Not reproducible and not predictable: for hash seeds and identities, never for a simulation.
std::uint64_t system_random();

}  // namespace sluice

#endif  // SLUICE_BASE_RANDOM_H_
