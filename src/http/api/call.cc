#include "http/api/call.h"

#include <array>
#include <exception>
#include <utility>

#include "base/clock.h"

namespace sluice::http {

void begin_answer(Call& call, int status) {
    call.reply.begin(status, "application/json");
}

JsonWriter open_data(Call& call) {
    JsonWriter json(call.reply.body());
    json.raw(R"({"meta":{"requestId":")").raw(call.request_id).raw(R"("},"data":)");
    return json;
}

bool read_fields(Call& call, Schema schema, Fields& fields) {
    FieldErrors& errors = call.scratch.errors;
    call.scratch.reader.read_object(call.request.body, schema, fields, errors);
    if (errors.empty()) [[likely]] {
        return check_namespace(call, fields.name_space);
    }
    answer_field_errors(call);
    return false;
}

void report_answer(const Call& call, std::chrono::steady_clock::duration took) {
    const ReportHooks& hooks = call.context.report;
    if (!hooks.on_request) return;
    hooks.on_request({.request_id = call.request_id,
                      .method = call.request.method,
                      .path = call.request.path,
                      .peer = call.request.peer,
                      .workspace = call.notes.workspace,
                      .name_space = call.notes.name_space,
                      .outcome = call.notes.outcome,
                      .status = call.reply.status(),
                      .took = took});
}

bool check_namespace(Call& call, std::string_view name_space) {
    if (call.context.report.on_request) call.notes.note_namespace(name_space);
    if (call.caller->may_use(name_space)) [[likely]] {
        return true;
    }
    answer_error(call, 403, "The token does not cover this namespace.");
    return false;
}

UnixTime decision_time(Call& call) {
    if (call.context.clock == ClockSource::kSystem) [[likely]] {
        return exact_wall_time();
    }
    if (!call.request.has_header("x-test-time")) return exact_wall_time();
    const auto time = test_time(call.request.header("x-test-time"));
    if (!time) {
        call.scratch.errors.add(
            "header.X-Test-Time",
            "is no time; allowed: milliseconds since 1970, from 0 to 9007199254740991");
    }
    return time.value_or(UnixTime{});
}

namespace {

// Request headers that an answer depends on.
constexpr std::array<std::string_view, 2> kHeaders{"prefer", "accept"};

}  // namespace

DeferredCall::DeferredCall(Call& call, metrics::Route route)
    : context_(call.context),
      scratch_(call.scratch),
      overrides_(call.overrides),
      route_(route),
      request_id_(call.request_id),
      error_format_(call.error_format),
      method_(call.request.method),
      path_(call.request.path),
      peer_(call.request.peer),
      notes_(call.notes),
      reply_(call.reply),
      completion_(std::move(call.completion)) {
    request_.copy_headers(call.request, kHeaders, header_texts_);
    request_.method = method_;
    request_.path = path_;
    request_.peer = peer_;
    call.is_deferred = true;
}

std::shared_ptr<DeferredCall> DeferredCall::take(Call& call, metrics::Route route) {
    return std::shared_ptr<DeferredCall>(new DeferredCall(call, route));
}

void DeferredCall::answer(const std::shared_ptr<DeferredCall>& deferred,
                          std::function<void(Call&)> write) {
    deferred->context_.post([deferred, write = std::move(write)] { deferred->finish(write); });
}

void DeferredCall::finish(const std::function<void(Call&)>& write) {
    scratch_.errors.clear();
    Call call{.request = request_,
              .reply = reply_,
              .context = context_,
              .scratch = scratch_,
              .overrides = overrides_,
              .caller = nullptr,
              .request_id = request_id_,
              .error_format = error_format_,
              .notes = notes_,
              .completion = completion_};
    try {
        write(call);
    } catch (const std::exception& error) {
        answer_failure(call, "The request could not be answered.", error.what());
    }
    const auto took = Clock::now() - began_;
    context_.thread_metrics.latency(route_).observe(took);
    report_answer(call, took);
    completion_();
}

}  // namespace sluice::http
