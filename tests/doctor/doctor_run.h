// A run of `sluice doctor`, and what it found.
#ifndef SLUICE_TESTS_DOCTOR_DOCTOR_RUN_H_
#define SLUICE_TESTS_DOCTOR_DOCTOR_RUN_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::doctor_test {

struct DoctorRun {
    int exit_code;
    std::string out;

    // Whether a finding of this level and subject contains `part`, in what it says or advises.
    bool has(std::string_view level, std::string_view subject, std::string_view part) const;
    // Whether there is neither a fault nor a warning of that subject.
    bool is_clean(std::string_view subject) const;
};

// Runs it on free ports. Its clock is ahead by `shift`.
DoctorRun examine(const std::vector<std::string>& flags, std::chrono::seconds shift = {});

}  // namespace sluice::doctor_test

#endif  // SLUICE_TESTS_DOCTOR_DOCTOR_RUN_H_
