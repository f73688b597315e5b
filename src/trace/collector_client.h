// Posts JSON to a collector.
#ifndef SLUICE_TRACE_COLLECTOR_CLIENT_H_
#define SLUICE_TRACE_COLLECTOR_CLIENT_H_

#include <sluice/result.h>

#include <chrono>
#include <optional>
#include <string>

#include "url/collector_url.h"

namespace sluice::trace {

// Waits for the answer on a connection of its own. The error says what failed: the connection, or
// an answer without a status of 2xx.
std::optional<Error> post_spans(const CollectorUrl& collector,
                                std::string body,
                                std::chrono::milliseconds timeout);

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_COLLECTOR_CLIENT_H_
