// The span of a call of the rate-limit service that waits for the origin.
#ifndef SLUICE_SERVER_RATE_LIMIT_SPAN_H_
#define SLUICE_SERVER_RATE_LIMIT_SPAN_H_

#include <chrono>
#include <memory>
#include <string_view>

#include "rls/rate_limiter.h"
#include "trace/tracer.h"

namespace sluice::server {

// Begins the span of a call that waits since then, with the call's traceparent, or none if empty.
// Null if it is not sampled or `tracer` is null.
std::shared_ptr<trace::Span> begin_span(trace::Tracer* tracer,
                                        std::string_view traceparent,
                                        const rls::RateLimitRequest& request,
                                        std::chrono::steady_clock::time_point since);

// Does nothing for a null span.
void end_span(const std::shared_ptr<trace::Span>& span, const rls::Answer& answer);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_RATE_LIMIT_SPAN_H_
