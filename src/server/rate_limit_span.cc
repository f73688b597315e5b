#include "server/rate_limit_span.h"

#include <cstdint>

namespace sluice::server {

std::shared_ptr<trace::Span> begin_span(trace::Tracer* tracer,
                                        std::string_view traceparent,
                                        const rls::RateLimitRequest& request,
                                        std::chrono::steady_clock::time_point since) {
    if (tracer == nullptr) return nullptr;
    auto span = tracer->begin("ratelimit.rls", traceparent, since);
    if (span == nullptr) return nullptr;
    span->add("sluice.requests", static_cast<std::int64_t>(request.descriptors.size()));
    span->add_identifier("sluice.namespace", request.domain);
    return span;
}

void end_span(const std::shared_ptr<trace::Span>& span, const rls::Answer& answer) {
    if (span == nullptr) return;
    if (answer.error) {
        span->fail();
    } else {
        span->add("sluice.passed", answer.response.overall_code == rls::Code::kOk);
    }
    span->end();
}

}  // namespace sluice::server
