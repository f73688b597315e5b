// The difference between the clock of this machine and that of a store.
#ifndef SLUICE_DOCTOR_CLOCK_CHECK_H_
#define SLUICE_DOCTOR_CLOCK_CHECK_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "doctor/findings.h"

namespace sluice::doctor {

// A node that is a second ahead begins its windows a second early.
inline constexpr std::chrono::milliseconds kUsualOffset{1'000};
inline constexpr std::chrono::milliseconds kMostOffset{10'000};

inline std::chrono::milliseconds wall_clock() {
    return exact_wall_time().time_since_epoch();
}

// `theirs` was read between `before` and `after`.
inline void check_clock(const std::string& subject,
                        std::chrono::milliseconds before,
                        std::chrono::milliseconds theirs,
                        std::chrono::milliseconds after,
                        Findings& findings) {
    const std::chrono::milliseconds offset = theirs - (before + (after - before) / 2);
    const auto size = offset.count() < 0 ? -offset : offset;
    const std::string what = "its clock is " + std::to_string(size.count()) + " ms " +
                             (offset.count() < 0 ? "behind" : "ahead of") + " this machine's";
    const std::string change =
        "run an NTP client, such as chrony, on both machines: windows begin by these clocks";
    if (size >= kMostOffset) {
        findings.fault(subject, what, change);
    } else if (size >= kUsualOffset + (after - before)) {
        findings.warn(subject, what, change);
    } else {
        findings.ok(subject, what);
    }
}

}  // namespace sluice::doctor

#endif  // SLUICE_DOCTOR_CLOCK_CHECK_H_
