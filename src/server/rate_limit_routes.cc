#include "server/rate_limit_routes.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rls/json_call.h"
#include "server/rate_limit_span.h"

namespace sluice::server {
namespace {

// What the calls of one serving thread share; it keeps its memory from call to call.
struct Route {
    explicit Route(const rls::ServiceParts& parts)
        : limiter(parts), workspace(parts.options->workspace) {}

    rls::RateLimiter limiter;
    const std::string workspace;  // of all counts of the service
    rls::JsonRequest decoded;
    rls::Answer answer;
};

void write_failure(http::Call& call, const Error& error) {
    if (error.code == kInvalidRequest) return http::answer_error(call, 400, error.message);
    if (error.code == kOutOfMemory)
        return http::answer_error(call, 503, "There is no memory for a new key.");
    http::answer_failure(call, "The request could not be decided.", error.message);
}

void write(http::Call& call, const rls::Answer& answer) {
    if (answer.error) return write_failure(call, *answer.error);
    const bool passed = answer.response.overall_code != rls::Code::kOverLimit;
    call.notes.outcome = passed ? "passed" : "denied";
    http::begin_answer(call, passed ? 200 : 429);
    call.reply.body() = rls::encode_json(answer.response);
}

// Whether the token covers the counts that a request spends. False: 403 was answered.
bool may_spend(http::Call& call, const Route& route) {
    if (!call.caller->is_anonymous && call.caller->workspace != route.workspace) {
        http::answer_error(
            call,
            403,
            "The token is for another workspace than that of the setting rls.workspace.");
        return false;
    }
    return http::check_namespace(call, route.decoded.request.domain);
}

void answer(Route& route, http::Call& call) {
    const UnixTime now = http::decision_time(call);
    if (!call.scratch.errors.empty()) return http::answer_field_errors(call);
    if (const auto error = rls::decode_json(call.request.body, route.decoded))
        return write_failure(call, *error);
    if (!may_spend(call, route)) return;

    std::chrono::steady_clock::time_point since;
    if (call.context.tracer != nullptr) since = std::chrono::steady_clock::now();
    if (route.limiter.should_rate_limit(route.decoded.request, now, route.answer))
        return write(call, route.answer);
    auto span = begin_span(
        call.context.tracer, call.request.header("traceparent"), route.decoded.request, since);
    const auto deferred = http::DeferredCall::take(call, metrics::Route::kJson);
    route.limiter.ask_origin([deferred, span = std::move(span)](rls::Answer late) {
        end_span(span, late);
        http::DeferredCall::answer(
            deferred, [late = std::move(late)](http::Call& resumed) { write(resumed, late); });
    });
}

}  // namespace

// The first call makes the route, since its thread has the recorder.
std::function<void(http::Call&)> rate_limit_route(const rls::ServiceParts& parts) {
    const auto route = std::make_shared<std::optional<Route>>();
    return [route, parts](http::Call& call) {
        if (!*route) {
            rls::ServiceParts own = parts;
            own.recorder = call.context.recorder;
            route->emplace(own);
        }
        answer(**route, call);
    };
}

}  // namespace sluice::server
