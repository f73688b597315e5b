// Log lines about requests.
#ifndef SLUICE_CLI_REQUEST_LOG_H_
#define SLUICE_CLI_REQUEST_LOG_H_

#include "http/api/request_report.h"
#include "log/log.h"

namespace sluice::cli {

enum class RequestLines { kFailuresOnly, kAll };

// A line for each request that was answered with 500, with its cause; with kAll also one for each
// request and each refusal. Headers, bodies and identifiers, which may hold secrets, are not
// written. `log` outlives the hooks.
http::ReportHooks request_log(Log& log, RequestLines lines);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_REQUEST_LOG_H_
