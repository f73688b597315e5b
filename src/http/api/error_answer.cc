#include "http/api/error_answer.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "http/api/call.h"

namespace sluice::http {
namespace {

// The type and v1 code of a status.
struct ErrorDefaults {
    int status;
    std::string_view type;     // a path below kDocs
    std::string_view v1_code;  // a path below kV1Docs
};

constexpr std::string_view kDocs = "https://unkey.com/docs/errors/";
constexpr std::string_view kV1Docs = "https://unkey.dev/docs/api-reference/errors/code/";

// Unkey has no type for requests that its framework refuses; they are invalid input as well.
constexpr std::string_view kInvalidInput = "unkey/application/invalid_input";
constexpr std::string_view kUnexpected = "unkey/application/unexpected_error";

constexpr std::array kDefaults{
    ErrorDefaults{401, error_type::kTokenUnknown, "UNAUTHORIZED"},
    ErrorDefaults{403, "unkey/authorization/insufficient_permissions", "INSUFFICIENT_PERMISSIONS"},
    ErrorDefaults{404, kInvalidInput, "NOT_FOUND"},
    ErrorDefaults{405, kInvalidInput, "METHOD_NOT_ALLOWED"},
    ErrorDefaults{408, "user/bad_request/request_timeout", "BAD_REQUEST"},
    ErrorDefaults{413, "user/bad_request/request_body_too_large", "BAD_REQUEST"},
    ErrorDefaults{501, kInvalidInput, "BAD_REQUEST"},
    ErrorDefaults{503, "unkey/application/service_unavailable", "INTERNAL_SERVER_ERROR"},
    ErrorDefaults{505, kInvalidInput, "BAD_REQUEST"},
};
constexpr ErrorDefaults kOtherClientError{0, kInvalidInput, "BAD_REQUEST"};
constexpr ErrorDefaults kOtherServerError{0, kUnexpected, "INTERNAL_SERVER_ERROR"};

const ErrorDefaults& defaults_of(int status) {
    const auto* defaults = std::ranges::find(kDefaults, status, &ErrorDefaults::status);
    if (defaults != kDefaults.end()) return *defaults;
    return status < 500 ? kOtherClientError : kOtherServerError;
}

void write_field_error(JsonWriter& json, std::string_view location, std::string_view message) {
    json.raw(R"({"location":)").text(location).raw(R"(,"message":)").text(message).raw("}");
}

std::string at_least(const FieldErrors& errors) {
    return errors.is_full() ? "at least " : "";
}

void write_field_errors(JsonWriter& json, const FieldErrors& errors) {
    std::string_view separator;
    for (const FieldError& error : errors.kept()) {
        json.raw(separator);
        separator = ",";
        write_field_error(json, error.location, error.message);
    }
    const std::size_t more = errors.found() - errors.kept().size();
    if (more > 0) {
        json.raw(separator);
        write_field_error(
            json, "body", "has " + at_least(errors) + std::to_string(more) + " more problems");
    }
}

void write_v2(JsonWriter& json, const ErrorAnswer& error, const ErrorDefaults& defaults) {
    json.raw(R"({"meta":{"requestId":)").text(error.request_id);
    json.raw(R"(},"error":{"title":)").text(reason_of(error.status));
    json.raw(R"(,"detail":)").text(error.detail);
    json.raw(R"(,"status":)").number(error.status);
    json.raw(R"(,"type":")")
        .raw(kDocs)
        .raw(error.type.empty() ? defaults.type : error.type)
        .raw("\"");
    if (error.status == 400) {
        json.raw(R"(,"errors":[)");
        if (error.field_errors != nullptr) {
            write_field_errors(json, *error.field_errors);
        } else {
            write_field_error(json, "request", error.detail);
        }
        json.raw("]");
    }
    json.raw("}}");
}

// The v1 format has room for one message: the first error and the number of further ones.
std::string v1_message(const ErrorAnswer& error) {
    if (error.field_errors == nullptr) return std::string(error.detail);
    const FieldError& first = error.field_errors->kept().front();
    const std::size_t more = error.field_errors->found() - 1;
    return first.location + " " + first.message +
           (more == 0 ? ""
                      : " (and " + at_least(*error.field_errors) + std::to_string(more) + " more)");
}

void write_v1(JsonWriter& json, const ErrorAnswer& error, const ErrorDefaults& defaults) {
    json.raw(R"({"error":{"code":")").raw(defaults.v1_code);
    json.raw(R"(","docs":")").raw(kV1Docs).raw(defaults.v1_code);
    json.raw(R"(","message":)").text(v1_message(error));
    json.raw(R"(,"requestId":)").text(error.request_id).raw("}}");
}

}  // namespace

void write_error(const ErrorAnswer& error, Reply& reply) {
    reply.begin(
        error.status,
        accepts_problem_json(error.accept) ? "application/problem+json" : "application/json");
    if (error.field) reply.header(error.field->name, error.field->value);
    JsonWriter json(reply.body());
    const ErrorDefaults& defaults = defaults_of(error.status);
    if (error.format == ErrorFormat::kV1) return write_v1(json, error, defaults);
    write_v2(json, error, defaults);
}

namespace {

// Returns the last part of a type, such as "invalid_input".
std::string_view outcome_of(std::string_view type) {
    return type.substr(type.rfind('/') + 1);
}

void answer(Call& call, const ErrorAnswer& error) {
    write_error(error, call.reply);
    call.notes.outcome =
        outcome_of(error.type.empty() ? defaults_of(error.status).type : error.type);
}

}  // namespace

void answer_error(Call& call,
                  int status,
                  std::string_view detail,
                  const std::optional<HeaderField>& field,
                  std::string_view type) {
    SLUICE_CHECK(status != 500);
    answer(call,
           {.status = status,
            .request_id = call.request_id,
            .detail = detail,
            .accept = call.request.header("accept"),
            .type = type,
            .format = call.error_format,
            .field = field});
    call.context.thread_metrics.errors[metrics::error_kind_of(status)].add();
}

void answer_failure(Call& call, std::string_view detail, std::string_view cause) {
    const ReportHooks& hooks = call.context.report;
    if (hooks.on_failure)
        hooks.on_failure(
            {.request_id = call.request_id, .path = call.request.path, .cause = cause});
    answer(call,
           {.status = 500,
            .request_id = call.request_id,
            .detail = detail,
            .accept = call.request.header("accept"),
            .format = call.error_format});
    call.context.thread_metrics.errors[metrics::error_kind_of(500)].add();
}

void answer_field_errors(Call& call) {
    answer(call,
           {.status = 400,
            .request_id = call.request_id,
            .detail = "The request is not valid; errors lists each problem.",
            .accept = call.request.header("accept"),
            .format = call.error_format,
            .field_errors = &call.scratch.errors});
    call.context.thread_metrics.errors[metrics::ErrorKind::kInvalidRequest].add();
}

}  // namespace sluice::http
