#include "server/rate_limit_methods.h"

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
    rls::Answer answer;
    // Answered by the origin, on another thread. The call is deferred only then: `state` is shared
    // with what waits, which may answer before the call is deferred here.
    struct Deferred {
        std::mutex mutex;  // guards both
        std::optional<grpc::Completion> completion;
        std::optional<grpc::Answer> answer;
    };
    const auto state = std::make_shared<Deferred>();
    rls::RateLimiter::Later later = [state](rls::Answer decided) {
        grpc::Answer done = encoded(decided);
        std::unique_lock lock(state->mutex);
        if (!state->completion) {
            state->answer = std::move(done);
            return;
        }
        grpc::Completion completion = *std::move(state->completion);
        lock.unlock();
        completion(std::move(done));
    };
    if ((calls.limiter.*decide)(calls.request, coarse_wall_time(), answer, later)) {
        call.answer() = encoded(answer);
        return;
    }
    const std::lock_guard lock(state->mutex);
    if (state->answer)
        call.answer() = *std::move(state->answer);
    else
        state->completion.emplace(call.defer());
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
