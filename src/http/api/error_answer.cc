#include "http/api/error_answer.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "http/api/call.h"
#include "http/api/header_values.h"

namespace sluice::http {
namespace {

struct Kind {
    int status;
    std::string_view title;
    std::string_view type;     // a path below kDocs
    std::string_view v1_code;  // a path below kV1Docs
};

constexpr std::string_view kDocs = "https://unkey.com/docs/errors/";
constexpr std::string_view kV1Docs = "https://unkey.dev/docs/api-reference/errors/code/";

// Unkey has no type of its own for what its framework refuses; that is invalid input as well.
constexpr std::string_view kInvalidInput = "unkey/application/invalid_input";
constexpr std::string_view kUnexpected = "unkey/application/unexpected_error";

constexpr std::array kKinds{
    Kind{400, "Bad Request", kInvalidInput, "BAD_REQUEST"},
    Kind{401, "Unauthorized", error_type::kTokenUnknown, "UNAUTHORIZED"},
    Kind{403,
         "Forbidden",
         "unkey/authorization/insufficient_permissions",
         "INSUFFICIENT_PERMISSIONS"},
    Kind{404, "Not Found", kInvalidInput, "NOT_FOUND"},
    Kind{405, "Method Not Allowed", kInvalidInput, "METHOD_NOT_ALLOWED"},
    Kind{408, "Request Timeout", "user/bad_request/request_timeout", "BAD_REQUEST"},
    Kind{413, "Content Too Large", "user/bad_request/request_body_too_large", "BAD_REQUEST"},
    Kind{414, "URI Too Long", kInvalidInput, "BAD_REQUEST"},
    Kind{415, "Unsupported Media Type", kInvalidInput, "BAD_REQUEST"},
    Kind{417, "Expectation Failed", kInvalidInput, "BAD_REQUEST"},
    Kind{421, "Misdirected Request", kInvalidInput, "BAD_REQUEST"},
    Kind{431, "Request Header Fields Too Large", kInvalidInput, "BAD_REQUEST"},
    Kind{500, "Internal Server Error", kUnexpected, "INTERNAL_SERVER_ERROR"},
    Kind{501, "Not Implemented", kInvalidInput, "BAD_REQUEST"},
    Kind{503,
         "Service Unavailable",
         "unkey/application/service_unavailable",
         "INTERNAL_SERVER_ERROR"},
    Kind{505, "HTTP Version Not Supported", kInvalidInput, "BAD_REQUEST"},
};
constexpr Kind kOtherClientKind{0, "Error", kInvalidInput, "BAD_REQUEST"};
constexpr Kind kOtherServerKind{0, "Error", kUnexpected, "INTERNAL_SERVER_ERROR"};

const Kind& kind_of(int status) {
    const auto* kind = std::ranges::find(kKinds, status, &Kind::status);
    if (kind != kKinds.end()) return *kind;
    return status < 500 ? kOtherClientKind : kOtherServerKind;
}

void write_problem(JsonWriter& json, std::string_view location, std::string_view message) {
    json.raw(R"({"location":)").text(location).raw(R"(,"message":)").text(message).raw("}");
}

void write_problems(JsonWriter& json, const Problems& problems) {
    std::string_view separator;
    for (const Problem& problem : problems.kept()) {
        json.raw(separator);
        separator = ",";
        write_problem(json, problem.location, problem.message);
    }
    const std::size_t more = problems.found() - problems.kept().size();
    if (more > 0) {
        json.raw(separator);
        write_problem(json, "body", "has " + std::to_string(more) + " more problems");
    }
}

void write_v2(JsonWriter& json, const ErrorAnswer& error, const Kind& kind) {
    json.raw(R"({"meta":{"requestId":)").text(error.request_id);
    json.raw(R"(},"error":{"title":)").text(kind.title);
    json.raw(R"(,"detail":)").text(error.detail);
    json.raw(R"(,"status":)").number(error.status);
    json.raw(R"(,"type":")").raw(kDocs).raw(error.type.empty() ? kind.type : error.type).raw("\"");
    if (error.status == 400) {
        json.raw(R"(,"errors":[)");
        if (error.problems != nullptr) {
            write_problems(json, *error.problems);
        } else {
            write_problem(json, "request", error.detail);
        }
        json.raw("]");
    }
    json.raw("}}");
}

// There is room for one sentence: the first problem, and how many there are beside it.
std::string v1_message(const ErrorAnswer& error) {
    if (error.problems == nullptr) return std::string(error.detail);
    const Problem& first = error.problems->kept().front();
    const std::size_t more = error.problems->found() - 1;
    return first.location + " " + first.message +
           (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
}

void write_v1(JsonWriter& json, const ErrorAnswer& error, const Kind& kind) {
    json.raw(R"({"error":{"code":")").raw(kind.v1_code);
    json.raw(R"(","docs":")").raw(kV1Docs).raw(kind.v1_code);
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
    const Kind& kind = kind_of(error.status);
    if (error.format == ErrorFormat::kV1) return write_v1(json, error, kind);
    write_v2(json, error, kind);
}

namespace {

// The last part of a type: "invalid_input".
std::string_view outcome_of(std::string_view type) {
    return type.substr(type.rfind('/') + 1);
}

void answer(Call& call, const ErrorAnswer& error) {
    write_error(error, call.reply);
    call.notes.outcome = outcome_of(error.type.empty() ? kind_of(error.status).type : error.type);
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

void answer_problems(Call& call) {
    answer(call,
           {.status = 400,
            .request_id = call.request_id,
            .detail = "The request is not valid; errors lists each problem.",
            .accept = call.request.header("accept"),
            .format = call.error_format,
            .problems = &call.scratch.problems});
    call.context.thread_metrics.errors[metrics::ErrorKind::kInvalidRequest].add();
}

}  // namespace sluice::http
