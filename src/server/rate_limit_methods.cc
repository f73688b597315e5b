#include "server/rate_limit_methods.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "rls/messages.h"

namespace sluice::server {
namespace {

grpc::Answer encoded(const rls::Answer& answer) {
    if (answer.error) return {.status = {grpc::Code::kUnknown, answer.error->message}, .bytes = {}};
    grpc::Answer done;
    rls::encode(answer.response, done.bytes);
    return done;
}

// What the methods of one serving thread share; it keeps its memory from call to call.
struct Calls {
    Calls(const rls::ServiceParts& parts, trace::Tracer* with) : tracer(with), limiter(parts) {}

    trace::Tracer* const tracer;  // null: calls that wait are not traced
    rls::RateLimiter limiter;
    rls::RateLimitRequest request;
};

// Begins the span of a call that waits since then. Null if it is not sampled.
std::shared_ptr<trace::Span> begin_span(const Calls& calls,
                                        const grpc::CallView& call,
                                        std::chrono::steady_clock::time_point since) {
    if (calls.tracer == nullptr) return nullptr;
    auto span = calls.tracer->begin("ratelimit.rls", call.traceparent, since);
    if (span == nullptr) return nullptr;
    span->add("sluice.requests", static_cast<std::int64_t>(calls.request.descriptors.size()));
    span->add_identifier("sluice.namespace", calls.request.domain);
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

using Decide = bool (rls::RateLimiter::*)(const rls::RateLimitRequest&,
                                          UnixTime,
                                          rls::Answer&,
                                          rls::RateLimiter::Later&);

void handle(Calls& calls, Decide decide, grpc::UnaryCall& call) {
    if (const auto error = rls::decode(call.request().message, calls.request)) {
        call.answer().status = {grpc::Code::kInvalidArgument, error->message};
        return;
    }
    rls::Answer answer;
    // Answered by the origin, on another thread. The call is deferred only then: `state` is shared
    // with what waits, which may answer before the call is deferred here.
    struct Deferred {
        std::mutex mutex;  // guards the others
        std::optional<grpc::Completion> completion;
        std::shared_ptr<trace::Span> span;  // null: not sampled
        std::optional<rls::Answer> answer;
    };
    const auto state = std::make_shared<Deferred>();
    rls::RateLimiter::Later later = [state](rls::Answer decided) {
        std::unique_lock lock(state->mutex);
        if (!state->completion) {
            state->answer = std::move(decided);
            return;
        }
        grpc::Completion completion = *std::move(state->completion);
        const auto span = std::move(state->span);
        lock.unlock();
        end_span(span, decided);
        completion(encoded(decided));
    };
    std::chrono::steady_clock::time_point since;
    if (calls.tracer != nullptr) since = std::chrono::steady_clock::now();
    if ((calls.limiter.*decide)(calls.request, coarse_wall_time(), answer, later)) {
        call.answer() = encoded(answer);
        return;
    }
    const std::lock_guard lock(state->mutex);
    const auto span = begin_span(calls, call.request(), since);
    if (state->answer) {
        end_span(span, *state->answer);
        call.answer() = encoded(*state->answer);
        return;
    }
    state->completion.emplace(call.defer());
    state->span = span;
}

}  // namespace

void add_rate_limit_methods(const rls::ServiceParts& parts,
                            trace::Tracer* tracer,
                            grpc::MethodRegistry& methods) {
    const auto calls = std::make_shared<Calls>(parts, tracer);
    const auto method = [&](Decide decide) {
        return [calls, decide](grpc::UnaryCall& call) { handle(*calls, decide, call); };
    };
    constexpr std::string_view kEnvoy = "envoy.service.ratelimit.v3.RateLimitService";
    constexpr std::string_view kKuadrant = "kuadrant.service.ratelimit.v1.RateLimitService";
    methods.add(kEnvoy, "ShouldRateLimit", method(&rls::RateLimiter::should_rate_limit));
    methods.add(kKuadrant, "CheckRateLimit", method(&rls::RateLimiter::check_rate_limit));
    methods.add(kKuadrant, "Report", method(&rls::RateLimiter::report));
}

}  // namespace sluice::server
