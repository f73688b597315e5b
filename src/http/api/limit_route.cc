#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "http/api/decision_answer.h"
#include "http/api/decision_time.h"
#include "http/api/deferred_call.h"
#include "http/api/error_answer.h"
#include "http/api/rate_limit_fields.h"
#include "http/api/routes.h"

namespace sluice::http {
namespace {

// The namespace of a v1 request that names none.
constexpr std::string_view kDefaultNamespace = "default";

// Writes the body of an answer.
using Write = void (*)(Call&, const Decision&, const overrides::Override* applied);

// What a decision was asked for with.
struct Asked {
    std::chrono::milliseconds duration;
    const overrides::Override* applied;
    UnixTime now;
    Write write;
};

void write_v2(Call& call, const Decision& decision, const overrides::Override* applied) {
    JsonWriter json = open_data(call);
    json.raw(R"({"success":)").boolean(decision.passed).raw(",");
    write_decision(json, decision, applied);
    json.raw("}}");
}

// Without an envelope, and without what the v1 API does not have.
void write_v1(Call& call, const Decision& decision, const overrides::Override*) {
    JsonWriter json(call.reply.body());
    json.raw(R"({"success":)").boolean(decision.passed);
    json.raw(R"(,"limit":)").number(decision.limit);
    json.raw(R"(,"remaining":)").number(decision.remaining);
    json.raw(R"(,"reset":)").number(decision.reset_at.time_since_epoch().count()).raw("}");
}

void answer_decision(Call& call,
                     const Result<Decision>& decision,
                     const Asked& asked,
                     metrics::Source source) {
    if (!decision) return answer_undecided(call, decision.error());
    count_decision(call, *decision, asked.applied, source);

    begin_decision(call, decision->passed);
    add_rate_limit_fields(call.reply, *decision, asked.duration, asked.now);
    if (!decision->passed) add_retry_after(call.reply, retry_time(*decision), asked.now);
    asked.write(call, *decision, asked.applied);
}

// The origin is asked first.
void answer_later(Call& call, const Request& request, const Asked& asked) {
    std::optional<overrides::Override> applied;
    if (asked.applied != nullptr) applied = *asked.applied;
    const auto late = DeferredCall::take(call, metrics::Route::kLimit);
    call.context.limiter.limit_async(
        request, asked.now, [late, applied, asked](Result<Decision> decision) {
            DeferredCall::answer(
                late, [applied, asked, decision = std::move(decision)](Call& again) {
                    const Asked kept{
                        asked.duration, applied ? &*applied : nullptr, asked.now, asked.write};
                    answer_decision(again, decision, kept, metrics::Source::kOrigin);
                });
        });
}

void decide(Call& call, Schema schema, Write write) {
    Problems& problems = call.scratch.problems;
    problems.clear();
    const UnixTime now = decision_time(call);
    Fields fields;
    fields.name_space = kDefaultNamespace;
    call.scratch.reader.read_object(call.request.body, schema, fields, problems);
    if (!problems.empty()) return answer_problems(call);
    if (!check_namespace(call, fields.name_space)) return;

    const auto [request, applied] = question_of(call, fields);
    const Asked asked{request.duration, applied, now, write};
    const auto decision = call.context.limiter.try_limit(request, now);
    if (!decision) return answer_later(call, request, asked);
    answer_decision(call, *decision, asked, metrics::Source::kLocal);
}

}  // namespace

void answer_limit(Call& call) {
    decide(call, kDecisionSchema, write_v2);
}

void answer_v1_limit(Call& call) {
    decide(call, kV1DecisionSchema, write_v1);
}

}  // namespace sluice::http
