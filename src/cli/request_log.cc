#include "cli/request_log.h"

#include <chrono>
#include <string>

namespace sluice::cli {
namespace {

constexpr std::size_t kLongestText = 200;

// A client chose the bytes: only visible ASCII enters the log.
std::string visible(std::string_view text) {
    std::string out(text.substr(0, kLongestText));
    for (char& c : out) {
        if (c <= ' ' || c > '~') c = '?';
    }
    return out;
}

void log_request(Log& log, const http::RequestReport& report) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(report.took);
    log.info("request",
             {{"request_id", report.request_id},
              {"method", visible(report.method)},
              {"path", visible(report.path)},
              {"status", report.status},
              {"outcome", report.outcome},
              {"workspace", visible(report.workspace)},
              {"namespace", visible(report.name_space)},
              {"peer", report.peer},
              {"microseconds", took.count()}});
}

}  // namespace

http::ReportHooks request_log(Log& log, RequestLines lines) {
    http::ReportHooks hooks;
    hooks.on_failure = [&log](const http::FailureReport& report) {
        log.error("request_failed",
                  {{"request_id", report.request_id},
                   {"path", visible(report.path)},
                   {"cause", report.cause}});
    };
    if (lines == RequestLines::kFailuresOnly) return hooks;
    hooks.on_request = [&log](const http::RequestReport& report) { log_request(log, report); };
    hooks.on_refusal = [&log](const http::RefusalReport& report) {
        log.info(
            "request_refused",
            {{"request_id", report.request_id}, {"status", report.status}, {"why", report.detail}});
    };
    return hooks;
}

}  // namespace sluice::cli
