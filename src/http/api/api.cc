#include "http/api/api.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string>

#include "http/api/error_answer.h"
#include "http/api/event_streams.h"
#include "http/api/request_headers.h"
#include "page/assets.h"

namespace sluice::http {

struct Permission {
    std::string_view name;
    bool config::Permissions::*granted = nullptr;
};

// What a client may send besides POST with JSON.
enum class BodyForm {
    kJson,
    // A route of envoyproxy/ratelimit, whose clients also send GET, and no content type. Browsers
    // have to name JSON all the same.
    kLenient,
};

enum class Method { kGet, kPost };  // kGet: HEAD as well

enum class ServedOn { kMain, kAdmin, kBoth };

enum class NeedsToken {
    kNo,
    kYes,          // on a server with tokens
    kOffLoopback,  // the same, unless the listener is on loopback
};

// An entry of the route table.
struct RouteEntry {
    std::string_view path;
    metrics::Route metric;
    void (*answer)(Call&);
    Permission permission{};  // none: any token will do
    ErrorFormat error_format = ErrorFormat::kV2;
    Method method = Method::kPost;
    ServedOn served_on = ServedOn::kBoth;
    NeedsToken needs_token = NeedsToken::kYes;
    BodyForm form = BodyForm::kJson;

    bool is_on(ListenerRole role) const {
        const bool is_main = role == ListenerRole::kPublic;
        return served_on != (is_main ? ServedOn::kAdmin : ServedOn::kMain);
    }
    bool takes_body() const { return method == Method::kPost; }
    bool takes_get_with_body() const { return takes_body() && form == BodyForm::kLenient; }
    std::string_view methods() const {
        return takes_get_with_body() ? "GET, POST" : takes_body() ? "POST" : "GET, HEAD";
    }
    bool takes(std::string_view name) const {
        if (name == "GET") return takes_get_with_body() || !takes_body();
        return name == (takes_body() ? "POST" : "HEAD");
    }
    bool needs_token_on(ListenerRole role) const {
        return needs_token == NeedsToken::kYes ||
               (needs_token == NeedsToken::kOffLoopback && role != ListenerRole::kAdmin);
    }
};

namespace {

constexpr Permission kMayLimit{"limit", &config::Permissions::limit};
constexpr Permission kMayRead{"read_override", &config::Permissions::read_override};
constexpr Permission kMaySet{"set_override", &config::Permissions::set_override};
constexpr Permission kMayDelete{"delete_override", &config::Permissions::delete_override};
constexpr Permission kMayReadMetrics{"read_metrics", &config::Permissions::read_metrics};
constexpr Permission kMayReadKeys{"read_keys", &config::Permissions::read_keys};

using Metric = metrics::Route;

constexpr std::string_view kMetricsPath = "/metrics";

constexpr RouteEntry probe(std::string_view path, Metric metric, void (*answer)(Call&)) {
    return {.path = path,
            .metric = metric,
            .answer = answer,
            .method = Method::kGet,
            .served_on = ServedOn::kMain,
            .needs_token = NeedsToken::kNo};
}

constexpr RouteEntry view(std::string_view path,
                          Metric metric,
                          void (*answer)(Call&),
                          Permission permission) {
    return {.path = path,
            .metric = metric,
            .answer = answer,
            .permission = permission,
            .method = Method::kGet,
            .served_on = ServedOn::kAdmin};
}

constexpr std::string_view kForeignHost =
    "The Host field names a host that this server does not answer for: it listens on loopback. The "
    "setting allowed_hosts adds names.";

// The most frequent first.
constexpr std::array kRoutes{
    RouteEntry{"/v2/ratelimit.limit", Metric::kLimit, answer_limit, kMayLimit},
    RouteEntry{"/v2/ratelimit.multiLimit", Metric::kMultiLimit, answer_multi_limit, kMayLimit},
    RouteEntry{"/v2/ratelimit.inspect", Metric::kInspect, answer_inspect, kMayLimit},
    RouteEntry{"/v2/ratelimit.setOverride", Metric::kSetOverride, answer_set_override, kMaySet},
    RouteEntry{"/v2/ratelimit.getOverride", Metric::kGetOverride, answer_get_override, kMayRead},
    RouteEntry{
        "/v2/ratelimit.listOverrides", Metric::kListOverrides, answer_list_overrides, kMayRead},
    RouteEntry{"/v2/ratelimit.deleteOverride",
               Metric::kDeleteOverride,
               answer_delete_override,
               kMayDelete},
    RouteEntry{"/v2/ratelimit.overrideLog", Metric::kOverrideLog, answer_override_log, kMayRead},
    RouteEntry{.path = "/v1/ratelimits.limit",
               .metric = Metric::kLimit,
               .answer = answer_v1_limit,
               .permission = kMayLimit,
               .error_format = ErrorFormat::kV1,
               .served_on = ServedOn::kMain},
    RouteEntry{.path = "/json",
               .metric = Metric::kJson,
               .answer = answer_rate_limit,
               .permission = kMayLimit,
               .served_on = ServedOn::kMain,
               .form = BodyForm::kLenient},
    probe("/healthcheck", Metric::kHealthcheck, answer_healthcheck),
    probe("/healthz", Metric::kHealth, answer_health),
    probe("/v2/liveness", Metric::kHealth, answer_liveness),
    probe("/readyz", Metric::kReady, answer_ready),
    RouteEntry{.path = kMetricsPath,
               .metric = Metric::kMetrics,
               .answer = answer_metrics,
               .permission = kMayReadMetrics,
               .method = Method::kGet,
               .served_on = ServedOn::kAdmin,
               .needs_token = NeedsToken::kOffLoopback},
    RouteEntry{.path = "/v2/ratelimit.topKeys",
               .metric = Metric::kTopKeys,
               .answer = answer_top_keys,
               .permission = kMayReadKeys,
               .served_on = ServedOn::kAdmin},
    view("/v2/node.caller", Metric::kCaller, answer_caller, {}),
    view("/v2/node.status", Metric::kStatus, answer_status, kMayReadMetrics),
    view("/v2/node.traffic", Metric::kTraffic, answer_traffic, kMayReadMetrics),
    view("/v2/node.fleet", Metric::kFleet, answer_fleet, kMayReadMetrics),
    view("/v2/node.events", Metric::kEvents, answer_events, kMayReadMetrics),
};

// Each file of the page.
constexpr RouteEntry kPageRoute{.path = "/",
                                .metric = Metric::kPage,
                                .answer = answer_page,
                                .method = Method::kGet,
                                .served_on = ServedOn::kAdmin,
                                .needs_token = NeedsToken::kNo};

const RouteEntry* find_route(std::string_view path, ListenerRole role) {
    if (kPageRoute.is_on(role) && page::find_asset(path) != nullptr) return &kPageRoute;
    const auto* route = std::ranges::find(kRoutes, path, &RouteEntry::path);
    return route == kRoutes.end() || !route->is_on(role) ? nullptr : route;
}

bool is_admin_route(std::string_view path) {
    return find_route(path, ListenerRole::kAdmin) != nullptr;
}

void answer_no_route(Call& call) {
    answer_error(call,
                 404,
                 is_admin_route(call.request.path)
                     ? "This is served on the address that the setting admin_listen names."
                     : "There is no such route.");
}

void answer_wrong_method(Call& call, const RouteEntry& route) {
    const std::string detail = "This route takes " + std::string(route.methods()) + " only.";
    answer_error(call, 405, detail, {{"Allow", route.methods()}});
}

void answer_unauthorised(Call& call) {
    if (!call.request.has_header("authorization")) {
        return answer_error(call,
                            401,
                            "A bearer token is required.",
                            {{"WWW-Authenticate", R"(Bearer realm="sluice")"}},
                            error_type::kTokenMissing);
    }
    const auto token = bearer_token(call.request.header("authorization"));
    const bool is_malformed = !token || token->empty();
    answer_error(call,
                 401,
                 "The bearer token is not valid.",
                 {{"WWW-Authenticate", R"(Bearer realm="sluice", error="invalid_token")"}},
                 is_malformed ? error_type::kTokenMalformed : error_type::kTokenUnknown);
}

void answer_forbidden(Call& call, const RouteEntry& route) {
    const std::string detail =
        "The token lacks the permission " + std::string(route.permission.name) + ".";
    answer_error(call, 403, detail);
}

// Whether the content type is as the route requires. A missing one is refused too where a browser
// may have sent the request: it does so to any host on behalf of any page. Such a request has one
// of the two header fields, or is a GET without a body.
bool is_accepted_type(const RequestView& request, BodyForm form) {
    if (is_json(request.header("content-type"))) return true;
    return form == BodyForm::kLenient && !request.has_header("origin") &&
           !request.has_header("sec-fetch-site");
}

// Returns the caller that the token identifies; null if a valid token is required and missing.
const Caller* caller_of(const RequestView& request, const TokenSet& tokens) {
    if (tokens.is_open()) return &tokens.anonymous();
    const auto token = bearer_token(request.header("authorization"));
    return token ? tokens.find(*token) : nullptr;
}

// Handles an exception, most likely std::bad_alloc. A deferred call no longer owns its reply: the
// holder of the completion answers it, or drops it, which answers with 500. Here it is only logged.
void fail(Call& call, std::string_view cause) {
    const ReportHooks& hooks = call.context.report;
    if (!call.is_deferred) {
        answer_failure(call, "The request could not be answered.", cause);
    } else if (hooks.on_failure) {
        hooks.on_failure(
            {.request_id = call.request_id, .path = call.request.path, .cause = cause});
    }
}

}  // namespace

Api::Api(const ApiContext& context)
    : context_(context), tokens_(context.tokens), overrides_(context.overrides.reader()) {}

Call Api::make_call(const RequestView& request,
                    Reply& reply,
                    const RouteEntry* route,
                    Completion& completion) {
    notes_.clear();
    scratch_.errors.clear();
    return {.request = request,
            .reply = reply,
            .context = context_,
            .scratch = scratch_,
            .overrides = overrides_,
            .caller = nullptr,
            .request_id = ids_.next(),
            .error_format = route == nullptr ? ErrorFormat::kV2 : route->error_format,
            .notes = notes_,
            .completion = completion,
            .streams = &streams_};
}

HandlerResult Api::handle(const RequestView& request, Reply& reply, Completion completion) {
    const auto began = std::chrono::steady_clock::now();
    const RouteEntry* route = find_route(request.path, context_.role);
    Call call = make_call(request, reply, route, completion);
    try {
        if (check(call, route)) {
            overrides_.refresh();
            route->answer(call);
        }
    } catch (const std::exception& error) {
        fail(call, error.what());
    }
    if (call.is_deferred) return HandlerResult::kDeferred;
    const HandlerResult result = call.is_stream ? HandlerResult::kDeferred : HandlerResult::kDone;
    const auto took = std::chrono::steady_clock::now() - began;
    context_.thread_metrics.latency(route == nullptr ? metrics::Route::kUnknown : route->metric)
        .observe(took);
    report_answer(call, took);
    return result;
}

// Runs all checks that need only the head. False: the request was answered with an error.
bool Api::check(Call& call, const RouteEntry* route) {
    tokens_.refresh();
    const auto access =
        tokens_.get().is_open() ? HostRule::Access::kOpen : HostRule::Access::kByToken;
    if (!context_.hosts.allows(call.request, access)) {
        answer_error(call, 421, kForeignHost);
    } else if (route == nullptr) {
        answer_no_route(call);
    } else if (!route->takes(call.request.method)) {
        answer_wrong_method(call, *route);
    } else {
        return !route->needs_token_on(context_.role) || check_token(call, *route);
    }
    return false;
}

bool Api::check_token(Call& call, const RouteEntry& route) {
    call.caller = caller_of(call.request, tokens_.get());
    if (call.caller == nullptr) {
        answer_unauthorised(call);
        return false;
    }
    if (context_.report.on_request) notes_.workspace = call.caller->workspace;
    const auto granted = route.permission.granted;
    if (granted != nullptr && !(call.caller->permissions.*granted)) {
        answer_forbidden(call, route);
    } else if (route.takes_body() && !is_accepted_type(call.request, route.form)) {
        answer_error(call, 415, "The content type must be application/json.");
    } else {
        return true;
    }
    return false;
}

void Api::send_events() {
    if (streams_.size() == 0) return;
    tokens_.refresh();
    streams_.send(*context_.observer, tokens_.get());
}

bool Api::check_head(const RequestView& request, Reply& reply) {
    const auto began = std::chrono::steady_clock::now();
    const RouteEntry* const route = find_route(request.path, context_.role);
    Completion none(nullptr);
    Call call = make_call(request, reply, route, none);
    bool is_accepted = false;
    try {
        is_accepted = check(call, route);
    } catch (const std::exception& error) {
        fail(call, error.what());
    }
    if (!is_accepted) report_answer(call, std::chrono::steady_clock::now() - began);
    return is_accepted;
}

void Api::protocol_error(const WireError& error, Reply& reply) {
    const ErrorAnswer answer{.status = error.status,
                             .request_id = ids_.next(),
                             .detail = error.detail,
                             .accept = error.accept};
    write_error(answer, reply);
    const ReportHooks& hooks = context_.report;
    if (hooks.on_refusal)
        hooks.on_refusal(
            {.request_id = answer.request_id, .status = error.status, .detail = error.detail});
    if (error.status == 500 && hooks.on_failure)
        hooks.on_failure({.request_id = answer.request_id,
                          .path = "",
                          .cause = error.cause.empty() ? error.detail : error.cause});
    const auto kind = error.status == 400 ? metrics::ErrorKind::kMalformedHttp
                                          : metrics::error_kind_of(error.status);
    context_.thread_metrics.errors[kind].add();
}

}  // namespace sluice::http
