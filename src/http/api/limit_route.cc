#include "http/api/decision_answer.h"
#include "http/api/decision_time.h"
#include "http/api/error_answer.h"
#include "http/api/rate_limit_fields.h"
#include "http/api/routes.h"

namespace sluice::http {

void answer_limit(Call& call) {
    Problems& problems = call.scratch.problems;
    problems.clear();
    const UnixTime now = decision_time(call);
    Fields fields;
    call.scratch.reader.read_object(call.request.body, kDecisionSchema, fields, problems);
    if (!problems.empty()) return answer_problems(call);
    if (!check_namespace(call, fields.name_space)) return;

    const auto [request, applied] = question_of(call, fields);
    const Result<Decision> decision = call.context.limiter.limit(request, now);
    if (!decision) return answer_undecided(call, decision.error());
    count_decision(call, *decision, applied);

    begin_decision(call, decision->passed);
    add_rate_limit_fields(call.reply, *decision, request.duration, now);
    if (!decision->passed) add_retry_after(call.reply, retry_time(*decision), now);
    JsonWriter json = open_data(call);
    json.raw(R"({"success":)").boolean(decision->passed).raw(",");
    write_decision(json, *decision, applied);
    json.raw("}}");
}

}  // namespace sluice::http
