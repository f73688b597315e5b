// Wall time, as every part of Sluice speaks of it.
#ifndef SLUICE_TIME_H_
#define SLUICE_TIME_H_

#include <chrono>

namespace sluice {

// Milliseconds since 1970. Windows are aligned to it, so that all machines agree on where one
// begins.
using UnixTime = std::chrono::sys_time<std::chrono::milliseconds>;

}  // namespace sluice

#endif  // SLUICE_TIME_H_
