#include <algorithm>
#include <span>

#include "http/api/decision_answer.h"
#include "http/api/decision_time.h"
#include "http/api/error_answer.h"
#include "http/api/rate_limit_fields.h"
#include "http/api/routes.h"

namespace sluice::http {
namespace {

// Fills scratch.requests and scratch.applied. Their memory and that of scratch.items is used again,
// so that a batch of any size costs no allocation here.
void ask_all(Call& call) {
    Scratch& scratch = call.scratch;
    scratch.requests.clear();
    scratch.applied.clear();
    for (const Fields& item : scratch.items) {
        const auto [request, applied] = question_of(call, item);
        scratch.requests.push_back(request);
        scratch.applied.push_back(applied);
    }
}

bool check_namespaces(Call& call) {
    return std::ranges::all_of(call.scratch.items, [&call](const Fields& item) {
        return check_namespace(call, item.name_space);
    });
}

void add_fields(Call& call, const BatchDecision& batch, UnixTime now) {
    const std::size_t worst = most_restrictive(batch.decisions);
    const Decision& decision = batch.decisions[worst];
    add_rate_limit_fields(call.reply, decision, call.scratch.requests[worst].duration, now);
    if (!batch.passed) add_retry_after(call.reply, retry_time(decision), now);
}

void write_items(JsonWriter& json, const Scratch& scratch, std::span<const Decision> decisions) {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        json.raw(i == 0 ? R"({"namespace":)" : R"(,{"namespace":)")
            .text(scratch.requests[i].name_space);
        json.raw(R"(,"identifier":)").text(scratch.requests[i].identifier);
        json.raw(R"(,"passed":)").boolean(decisions[i].passed).raw(",");
        write_decision(json, decisions[i], scratch.applied[i]);
        json.raw("}");
    }
}

}  // namespace

void answer_multi_limit(Call& call) {
    Scratch& scratch = call.scratch;
    scratch.problems.clear();
    const UnixTime now = decision_time(call);
    scratch.reader.read_array(call.request.body, kDecisionSchema, scratch.items, scratch.problems);
    if (!scratch.problems.empty()) return answer_problems(call);
    if (!check_namespaces(call)) return;

    ask_all(call);
    const Result<BatchDecision> batch = call.context.limiter.limit_many(scratch.requests, now);
    if (!batch) return answer_undecided(call, batch.error());
    for (std::size_t i = 0; i < batch->decisions.size(); ++i) {
        count_decision(call, batch->decisions[i], scratch.applied[i]);
    }

    begin_decision(call, batch->passed);
    add_fields(call, *batch, now);
    JsonWriter json = open_data(call);
    json.raw(R"({"passed":)").boolean(batch->passed).raw(R"(,"limits":[)");
    write_items(json, scratch, batch->decisions);
    json.raw("]}}");
}

}  // namespace sluice::http
