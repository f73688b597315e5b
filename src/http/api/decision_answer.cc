#include "http/api/decision_answer.h"

#include "http/api/error_answer.h"
#include "http/api/header_values.h"

namespace sluice::http {

Question question_of(const Call& call, const Fields& fields) {
    call.context.namespaces.add({call.caller->workspace, fields.name_space});
    Question question{.request = {.workspace = call.caller->workspace,
                                  .name_space = fields.name_space,
                                  .identifier = fields.identifier,
                                  .limit = fields.limit,
                                  .duration = std::chrono::milliseconds{fields.duration},
                                  .cost = fields.cost},
                      .applied = call.overrides.match(
                          {call.caller->workspace, fields.name_space, fields.identifier})};
    if (question.applied != nullptr) {
        question.request.limit = question.applied->grant.limit;
        question.request.duration = question.applied->grant.duration;
    }
    return question;
}

void begin_decision(Call& call, bool passed) {
    call.notes.outcome = passed ? "passed" : "denied";
    if (passed || !prefers_429(call.request.header("prefer"))) return begin_answer(call, 200);
    begin_answer(call, 429);
    call.reply.header("Preference-Applied", "status=429");
}

void write_decision(JsonWriter& json,
                    const Decision& decision,
                    const overrides::Override* applied) {
    json.raw(R"("limit":)").number(decision.limit);
    json.raw(R"(,"remaining":)").number(decision.remaining);
    json.raw(R"(,"reset":)").number(decision.reset_at.time_since_epoch().count());
    if (decision.retry_at) {
        json.raw(R"(,"retryAt":)").number(decision.retry_at->time_since_epoch().count());
    }
    if (applied != nullptr) json.raw(R"(,"overrideId":)").text(applied->id);
}

void count_decision(const Call& call,
                    const Decision& decision,
                    const overrides::Override* applied,
                    metrics::Source source) {
    using metrics::Outcome;
    metrics::ThreadMetrics& counts = call.context.thread_metrics;
    counts.decisions(source, decision.passed ? Outcome::kPassed : Outcome::kDenied).add();
    if (applied != nullptr) counts.overridden.add();
}

void answer_undecided(Call& call, const Error& error) {
    if (error.code == kOutOfMemory) {
        return answer_error(call, 503, "There is no memory for a new key.");
    }
    answer_failure(call, "The request could not be decided.", error.message);
}

}  // namespace sluice::http
