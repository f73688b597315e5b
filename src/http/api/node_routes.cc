// Routes that observe a node: its callers, state, traffic and top keys.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/api/call.h"
#include "http/api/event_streams.h"
#include "http/api/node_json.h"
#include "insight/observer.h"

namespace sluice::http {
namespace {

using insight::Ranking;
using insight::TopQuery;
using insight::Window;

// A whole number in the query of a request's target.
struct Parameter {
    std::string_view name;
    std::int64_t most;  // the least is 1
    std::int64_t value;
    bool is_given = false;
};

// Reads "name=value&name=value". An error is added to call.scratch.errors.
void read_query(Call& call, std::span<Parameter> parameters) {
    std::string_view rest = call.request.query;
    FieldErrors& errors = call.scratch.errors;
    while (!rest.empty()) {
        const std::string_view each = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(each.size() + 1, rest.size()));
        const std::string_view name = each.substr(0, each.find('='));
        const std::string_view value = each.substr(std::min(name.size() + 1, each.size()));
        const auto found = std::ranges::find(parameters, name, &Parameter::name);
        if (found == parameters.end()) {
            std::string names;
            for (const Parameter& parameter : parameters)
                names += (names.empty() ? "" : ", ") + std::string(parameter.name);
            errors.add("query", "has an unknown parameter; allowed: " + names);
            continue;
        }
        const std::string location = "query." + std::string(name);
        if (std::exchange(found->is_given, true)) errors.add(location, "is given twice");
        std::int64_t number = 0;
        const auto [end, failure] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        const bool is_number = failure == std::errc{} && end == value.data() + value.size();
        if (!is_number || number < 1 || number > found->most) {
            errors.add(location,
                       "is no number in range; allowed: a whole number from 1 to " +
                           std::to_string(found->most));
        }
        found->value = number;
    }
}

constexpr FieldRule kWindow{.name = "window",
                            .number = &Fields::window,
                            .min = 1,
                            .max = kMaxNumber,
                            .presence = Presence::kOptional};
constexpr FieldRule kBy{
    .name = "by", .text = &Fields::by, .min = 1, .presence = Presence::kOptional};
constexpr FieldRule kTopSize{.name = "limit",
                             .number = &Fields::page_size,
                             .min = 1,
                             .max = 500,
                             .presence = Presence::kOptional};
constexpr std::array kTopSchema{kOptionalNamespace, kWindow, kBy, kTopSize};

// For an answer that may come after a reload of the tokens.
insight::IsVisible visible_to_copy_of(const Caller& caller) {
    const auto copy = std::make_shared<const Caller>(caller);
    return [copy, is_visible = visible_to(*copy)](const insight::ShownNamespace& shown) {
        return is_visible(shown);
    };
}

std::optional<Window> window_of(std::int64_t length) {
    const auto found =
        std::ranges::find(insight::kWindowLengths, std::chrono::milliseconds{length});
    if (found == insight::kWindowLengths.end()) return std::nullopt;
    return static_cast<Window>(found - insight::kWindowLengths.begin());
}

std::optional<Ranking> ranking_of(std::string_view name) {
    for (const Ranking ranking : {Ranking::kDenials, Ranking::kSpend}) {
        if (name == name_of(ranking)) return ranking;
    }
    return std::nullopt;
}

// Lets `write` answer once the reports of the other nodes are read, which they are while they are
// asked for every second or two.
void answer_with_reports(Call& call, metrics::Route route, std::function<void(Call&)> write) {
    const insight::Observer& observer = *call.context.observer;
    if (observer.has_recent_reports()) return write(call);
    const auto deferred = DeferredCall::take(call, route);
    observer.read_reports(
        [deferred, write = std::move(write)] { DeferredCall::answer(deferred, write); });
}

void answer_too_many_streams(Call& call, const std::string& what, std::size_t most) {
    answer_error(
        call, 503, what + ": " + std::to_string(most) + ".", HeaderField{"Retry-After", "5"});
}

}  // namespace

void answer_top_keys(Call& call) {
    Fields fields;
    fields.window = 60'000;
    fields.by = "denials";
    fields.page_size = 100;
    FieldErrors& errors = call.scratch.errors;
    call.scratch.reader.read_object(call.request.body, kTopSchema, fields, errors);
    const auto window = window_of(fields.window);
    const auto by = ranking_of(fields.by);
    if (errors.empty() && !window) {
        errors.add("body.window",
                   "is " + std::to_string(fields.window) +
                       "; allowed: 60000, 600000 or 3600000 (milliseconds)");
    }
    if (errors.empty() && !by) errors.add("body.by", "is unknown; allowed: denials or spend");
    if (!errors.empty()) return answer_field_errors(call);
    if (!fields.name_space.empty() && !check_namespace(call, fields.name_space)) return;

    TopQuery query{.window = *window,
                   .by = *by,
                   .most = static_cast<std::size_t>(fields.page_size),
                   .is_visible = visible_to_copy_of(*call.caller)};
    if (!fields.name_space.empty()) {
        query.is_visible =
            [covered = query.is_visible,
             name = insight::shown_text(fields.name_space)](const insight::ShownNamespace& shown) {
                return shown.name == name && covered(shown);
            };
    }
    answer_with_reports(call, metrics::Route::kTopKeys, [query = std::move(query)](Call& resumed) {
        begin_answer(resumed, 200);
        JsonWriter json = open_data(resumed);
        write_top_keys(json, resumed.context.observer->top_keys(query), query);
        json.raw("}");
    });
}

void answer_caller(Call& call) {
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    write_caller(json, *call.caller);
    json.raw("}");
}

void answer_status(Call& call) {
    const insight::Observer& observer = *call.context.observer;
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    write_status(json, observer.status(), observer.now());
    json.raw("}");
}

void answer_fleet(Call& call) {
    answer_with_reports(call, metrics::Route::kFleet, [](Call& resumed) {
        const insight::Observer& observer = *resumed.context.observer;
        begin_answer(resumed, 200);
        JsonWriter json = open_data(resumed);
        write_fleet(
            json, observer.fleet(), observer.status().region, resumed.context.limiter.regions());
        json.raw("}");
    });
}

void answer_traffic(Call& call) {
    std::array parameters{Parameter{.name = "seconds", .most = 3600, .value = 60},
                          Parameter{.name = "step", .most = 60, .value = 1}};
    read_query(call, parameters);
    if (!call.scratch.errors.empty()) return answer_field_errors(call);
    const insight::Observer& observer = *call.context.observer;
    begin_answer(call, 200);
    JsonWriter json = open_data(call);
    write_traffic(json,
                  observer.traffic({.seconds = parameters[0].value, .step = parameters[1].value},
                                   visible_to(*call.caller)),
                  observer.now());
    json.raw("}");
}

void answer_events(Call& call) {
    if (call.request.method == "HEAD") return call.reply.begin(200, "text/event-stream");
    std::optional<Sha256> token;
    if (!call.caller->is_anonymous)
        token = sha256_of(*bearer_token(call.request.header("authorization")));
    const EventStreams::Open open = call.streams->count(token);
    if (open.all >= EventStreams::kMost) {
        return answer_too_many_streams(
            call, "As many streams are open as are allowed", EventStreams::kMost);
    }
    if (open.with_token >= EventStreams::kMostPerToken) {
        return answer_too_many_streams(call,
                                       "This token has as many streams open as are allowed",
                                       EventStreams::kMostPerToken);
    }
    // For the first event.
    if (call.caller->permissions.read_keys && !call.context.observer->has_recent_reports())
        call.context.observer->read_reports([] {});
    call.streams->open(call.reply, std::move(call.completion), token);
    call.is_stream = true;
}

}  // namespace sluice::http
