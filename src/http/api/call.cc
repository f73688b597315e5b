#include "http/api/call.h"

#include "http/api/error_answer.h"

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
    Problems& problems = call.scratch.problems;
    problems.clear();
    call.scratch.reader.read_object(call.request.body, schema, fields, problems);
    if (problems.empty()) [[likely]] {
        return true;
    }
    answer_problems(call);
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

}  // namespace sluice::http
