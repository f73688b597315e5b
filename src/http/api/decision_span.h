// Spans of decisions that wait for the origin.
#ifndef SLUICE_HTTP_API_DECISION_SPAN_H_
#define SLUICE_HTTP_API_DECISION_SPAN_H_

#include <sluice/limiter.h>

#include <memory>
#include <span>
#include <string_view>

#include "http/api/call.h"
#include "trace/tracer.h"

namespace sluice::http {

// Begins the span of requests that are decided together; `name` is a literal. Null if it is not
// sampled, or there is no tracer.
std::shared_ptr<trace::Span> begin_span(const Call& call,
                                        std::string_view name,
                                        std::span<const Request> requests);

// Both take null.
void end_span(const std::shared_ptr<trace::Span>& span, const Result<Decision>& decision);
void end_span(const std::shared_ptr<trace::Span>& span, const Result<BatchDecision>& batch);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_DECISION_SPAN_H_
