// Wall time: UnixTime, and the time of a request.
#ifndef SLUICE_TIME_H_
#define SLUICE_TIME_H_

#include <chrono>

namespace sluice {

// Milliseconds since 1970. Windows are aligned to it, so that all machines agree on where one
// begins.
using UnixTime = std::chrono::sys_time<std::chrono::milliseconds>;

// The time of a request: a parameter that takes any time of the system's clock, such as
// std::chrono::system_clock::now(), and rounds it down to milliseconds.
struct RequestTime {
    template <class Precision>
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr RequestTime(std::chrono::sys_time<Precision> time)
        : at(std::chrono::floor<std::chrono::milliseconds>(time)) {}

    UnixTime at;
};

}  // namespace sluice

#endif  // SLUICE_TIME_H_
