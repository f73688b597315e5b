#include "http/api/decision_span.h"

#include <cstdint>
#include <string>

namespace sluice::http {

std::shared_ptr<trace::Span> begin_span(const Call& call,
                                        std::string_view name,
                                        std::span<const Request> requests) {
    trace::Tracer* const tracer = call.context.tracer;
    if (tracer == nullptr) return nullptr;
    auto span = tracer->begin(name, call.request.header("traceparent"));
    if (span == nullptr) return nullptr;
    const Request& first = requests.front();
    span->add("sluice.requests", static_cast<std::int64_t>(requests.size()));
    span->add_identifier("sluice.workspace", first.workspace);
    if (requests.size() > 1) return span;
    span->add("sluice.limit", first.limit);
    span->add("sluice.cost", first.cost);
    span->add("sluice.duration_ms", std::int64_t{first.duration.count()});
    span->add_identifier("sluice.namespace", first.name_space);
    span->add_identifier("sluice.identifier", first.identifier);
    return span;
}

void end_span(const std::shared_ptr<trace::Span>& span, const Result<Decision>& decision) {
    if (span == nullptr) return;
    if (decision) {
        span->add("sluice.passed", decision->passed);
        span->add("sluice.remaining", decision->remaining);
    } else {
        span->fail();
    }
    span->end();
}

void end_span(const std::shared_ptr<trace::Span>& span, const Result<BatchDecision>& batch) {
    if (span == nullptr) return;
    if (batch) {
        span->add("sluice.passed", batch->passed);
    } else {
        span->fail();
    }
    span->end();
}

}  // namespace sluice::http
