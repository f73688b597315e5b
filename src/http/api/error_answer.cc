#include "http/api/error_answer.h"

#include <algorithm>
#include <array>
#include <string>

#include "http/api/call.h"
#include "http/api/header_values.h"

namespace sluice::http {
namespace {

struct Kind {
    int status;
    std::string_view title;
    std::string_view type;
};

constexpr std::array kKinds{
    Kind{400, "Bad Request", "urn:sluice:error:bad-request"},
    Kind{401, "Unauthorized", "urn:sluice:error:unauthorized"},
    Kind{403, "Forbidden", "urn:sluice:error:forbidden"},
    Kind{404, "Not Found", "urn:sluice:error:not-found"},
    Kind{405, "Method Not Allowed", "urn:sluice:error:method-not-allowed"},
    Kind{408, "Request Timeout", "urn:sluice:error:request-timeout"},
    Kind{413, "Content Too Large", "urn:sluice:error:content-too-large"},
    Kind{414, "URI Too Long", "urn:sluice:error:uri-too-long"},
    Kind{415, "Unsupported Media Type", "urn:sluice:error:unsupported-media-type"},
    Kind{417, "Expectation Failed", "urn:sluice:error:expectation-failed"},
    Kind{431, "Request Header Fields Too Large", "urn:sluice:error:header-too-large"},
    Kind{500, "Internal Server Error", "urn:sluice:error:internal"},
    Kind{501, "Not Implemented", "urn:sluice:error:not-implemented"},
    Kind{503, "Service Unavailable", "urn:sluice:error:unavailable"},
    Kind{505, "HTTP Version Not Supported", "urn:sluice:error:http-version"},
};
constexpr Kind kOtherKind{0, "Error", "urn:sluice:error:other"};

const Kind& kind_of(int status) {
    const auto* kind = std::ranges::find(kKinds, status, &Kind::status);
    return kind == kKinds.end() ? kOtherKind : *kind;
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

}  // namespace

void write_error(const ErrorAnswer& error, Reply& reply) {
    reply.begin(
        error.status,
        accepts_problem_json(error.accept) ? "application/problem+json" : "application/json");
    if (error.field) reply.header(error.field->name, error.field->value);
    const Kind& kind = kind_of(error.status);
    JsonWriter json(reply.body());
    json.raw(R"({"meta":{"requestId":)").text(error.request_id);
    json.raw(R"(},"error":{"title":)").text(kind.title);
    json.raw(R"(,"detail":)").text(error.detail);
    json.raw(R"(,"status":)").number(error.status);
    json.raw(R"(,"type":)").text(kind.type);
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

void answer_error(Call& call,
                  int status,
                  std::string_view detail,
                  const std::optional<HeaderField>& field) {
    write_error({.status = status,
                 .request_id = call.request_id,
                 .detail = detail,
                 .accept = call.request.header("accept"),
                 .field = field},
                call.reply);
    call.context.thread_metrics.errors[metrics::error_kind_of(status)].add();
}

void answer_problems(Call& call) {
    write_error({.status = 400,
                 .request_id = call.request_id,
                 .detail = "The request is not valid; errors lists each problem.",
                 .accept = call.request.header("accept"),
                 .problems = &call.scratch.problems},
                call.reply);
    call.context.thread_metrics.errors[metrics::ErrorKind::kInvalidRequest].add();
}

}  // namespace sluice::http
