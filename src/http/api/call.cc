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

bool check_namespace(Call& call, std::string_view name_space) {
    if (call.caller->may_use(name_space)) [[likely]] {
        return true;
    }
    answer_error(call, 403, "The token does not cover this namespace.");
    return false;
}

}  // namespace sluice::http
