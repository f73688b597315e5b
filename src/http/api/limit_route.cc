#include <memory>
#include <optional>
#include <utility>

#include "http/api/decision_answer.h"
#include "http/api/decision_time.h"
#include "http/api/error_answer.h"
#include "http/api/late_call.h"
#include "http/api/rate_limit_fields.h"
#include "http/api/routes.h"

namespace sluice::http {
namespace {

// What a decision was asked for with.
struct Asked {
    std::chrono::milliseconds duration;
    const overrides::Override* applied;
    UnixTime now;
};

void answer_decision(Call& call,
                     const Result<Decision>& decision,
                     const Asked& asked,
                     metrics::Source source) {
    if (!decision) return answer_undecided(call, decision.error());
    count_decision(call, *decision, asked.applied, source);

    begin_decision(call, decision->passed);
    add_rate_limit_fields(call.reply, *decision, asked.duration, asked.now);
    if (!decision->passed) add_retry_after(call.reply, retry_time(*decision), asked.now);
    JsonWriter json = open_data(call);
    json.raw(R"({"success":)").boolean(decision->passed).raw(",");
    write_decision(json, *decision, asked.applied);
    json.raw("}}");
}

// The origin is asked first.
void answer_later(Call& call, const Request& request, const Asked& asked) {
    std::optional<overrides::Override> applied;
    if (asked.applied != nullptr) applied = *asked.applied;
    const auto late = LateCall::take(call, metrics::Route::kLimit);
    call.context.limiter.limit_async(
        request, asked.now, [late, applied, asked](Result<Decision> decision) {
            LateCall::answer(late, [applied, asked, decision = std::move(decision)](Call& again) {
                const Asked kept{asked.duration, applied ? &*applied : nullptr, asked.now};
                answer_decision(again, decision, kept, metrics::Source::kOrigin);
            });
        });
}

}  // namespace

void answer_limit(Call& call) {
    Problems& problems = call.scratch.problems;
    problems.clear();
    const UnixTime now = decision_time(call);
    Fields fields;
    call.scratch.reader.read_object(call.request.body, kDecisionSchema, fields, problems);
    if (!problems.empty()) return answer_problems(call);
    if (!check_namespace(call, fields.name_space)) return;

    const auto [request, applied] = question_of(call, fields);
    const Asked asked{request.duration, applied, now};
    const auto decision = call.context.limiter.try_limit(request, now);
    if (!decision) return answer_later(call, request, asked);
    answer_decision(call, *decision, asked, metrics::Source::kLocal);
}

}  // namespace sluice::http
