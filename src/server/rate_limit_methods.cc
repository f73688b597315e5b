#include "server/rate_limit_methods.h"

#include <memory>
#include <string_view>

#include "base/clock.h"
#include "rls/messages.h"
#include "server/later_answer.h"

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
    explicit Calls(const rls::ServiceParts& parts) : limiter(parts) {}

    rls::RateLimiter limiter;
    rls::RateLimitRequest request;
};

using Decide = bool (rls::RateLimiter::*)(const rls::RateLimitRequest&,
                                          UnixTime,
                                          rls::Answer&,
                                          rls::RateLimiter::Later&);

void handle(Calls& calls, Decide decide, grpc::UnaryCall& call) {
    if (const auto error = rls::decode(call.request().message, calls.request)) {
        call.answer().status = {grpc::Code::kInvalidArgument, error->message};
        return;
    }
    const auto pending = std::make_shared<LaterAnswer>();
    rls::RateLimiter::Later later = LaterAnswer::receiver(pending);
    rls::Answer answer;
    if ((calls.limiter.*decide)(calls.request, coarse_wall_time(), answer, later)) {
        call.answer() = encoded(answer);
        return;
    }
    pending->send_by([completion = call.defer()](const rls::Answer& late) mutable {
        completion(encoded(late));
    });
}

}  // namespace

void add_rate_limit_methods(const rls::ServiceParts& parts, grpc::MethodRegistry& methods) {
    const auto calls = std::make_shared<Calls>(parts);
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
