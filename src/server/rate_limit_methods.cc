#include "server/rate_limit_methods.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "rls/messages.h"
#include "server/rate_limit_span.h"

namespace sluice::server {
namespace {

// Fills in an empty answer.
void encode(const rls::Answer& answer, grpc::Answer& done) {
    if (answer.error) {
        done.status = {grpc::Code::kUnknown, answer.error->message};
    } else {
        rls::encode(answer.response, done.bytes);
    }
}

// What the methods of one serving thread share; it keeps its memory from call to call.
struct Calls {
    Calls(const rls::ServiceParts& parts, trace::Tracer* with) : tracer(with), limiter(parts) {}

    trace::Tracer* const tracer;  // null: calls that wait are not traced
    rls::RateLimiter limiter;
    rls::RateLimitRequest request;
    rls::Answer answer;
};

using Decide = bool (rls::RateLimiter::*)(const rls::RateLimitRequest&, UnixTime, rls::Answer&);

void handle(Calls& calls, Decide decide, grpc::UnaryCall& call) {
    if (const auto error = rls::decode(call.request().message, calls.request)) {
        call.answer().status = {grpc::Code::kInvalidArgument, error->message};
        return;
    }
    std::chrono::steady_clock::time_point since;
    if (calls.tracer != nullptr) since = std::chrono::steady_clock::now();
    if ((calls.limiter.*decide)(calls.request, coarse_wall_time(), calls.answer))
        return encode(calls.answer, call.answer());
    auto span = begin_span(calls.tracer, call.request().traceparent, calls.request, since);
    calls.limiter.ask_origin(
        [span = std::move(span), completion = call.defer()](const rls::Answer& late) mutable {
            end_span(span, late);
            grpc::Answer done;
            encode(late, done);
            completion(std::move(done));
        });
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
