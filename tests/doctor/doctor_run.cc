#include "doctor/doctor_run.h"

#include <algorithm>
#include <utility>

#include "support/process.h"

namespace sluice::doctor_test {
namespace {

// The text of each finding, from its level on.
std::vector<std::string> findings_in(const std::string& out) {
    std::vector<std::string> findings;
    for (std::size_t begin = out.find("{\"level\":"); begin != std::string::npos;) {
        const std::size_t end = out.find("{\"level\":", begin + 1);
        findings.push_back(out.substr(begin, end - begin));
        begin = end;
    }
    return findings;
}

std::string head_of(std::string_view level, std::string_view subject) {
    return "{\"level\":\"" + std::string(level) + "\",\"subject\":\"" + std::string(subject) + "\"";
}

}  // namespace

bool DoctorRun::has(std::string_view level, std::string_view subject, std::string_view part) const {
    for (const std::string& finding : findings_in(out)) {
        const bool is_meant = finding.starts_with(head_of(level, subject));
        const bool advises = level == "ok" || finding.find("\"change\":\"") != std::string::npos;
        if (is_meant && advises && finding.find(part) != std::string::npos) return true;
    }
    return false;
}

bool DoctorRun::is_clean(std::string_view subject) const {
    return out.find(head_of("fault", subject)) == std::string::npos &&
           out.find(head_of("warning", subject)) == std::string::npos;
}

DoctorRun examine(const std::vector<std::string>& flags, std::chrono::seconds shift) {
    std::vector<std::string> words{"doctor", "--json"};
    // A machine of tests may allow few files.
    for (const auto& [flag, value] :
         {std::pair{"--listen", "127.0.0.1:0"}, {"--http-max-connections", "100"}}) {
        if (std::find(flags.begin(), flags.end(), flag) != flags.end()) continue;
        words.emplace_back(flag);
        words.emplace_back(value);
    }
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<std::string> environment;
    if (shift.count() != 0) {
        // The library is loaded in front of a sanitizer's runtime.
        environment = {std::string("LD_PRELOAD=") + SHIFTED_CLOCK_LIBRARY,
                       "SHIFTED_CLOCK_SECONDS=" + std::to_string(shift.count()),
                       "ASAN_OPTIONS=verify_asan_link_order=0"};
    }
    const server_test::Ending ending = server_test::run(words, environment);
    return {.exit_code = ending.exit_code, .out = ending.out + ending.err};
}

}  // namespace sluice::doctor_test
