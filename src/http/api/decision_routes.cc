// The routes that decide: a single request, one in the form of version 1, and a batch.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "http/api/call.h"
#include "http/api/decision_span.h"
#include "http/api/rate_limit_fields.h"
#include "service/pending_decision.h"

namespace sluice::http {
namespace {

using overrides::Override;

// A request to the limiter. Where an override applies, its limit and duration replace the client's.
struct RequestWithOverride {
    Request request;
    const Override* applied;  // null if none applies
};

// Also records the namespace as known.
RequestWithOverride apply_override(const Call& call, const Fields& fields) {
    call.context.namespaces.add({call.caller->workspace, fields.name_space});
    RequestWithOverride result{.request = {.workspace = call.caller->workspace,
                                           .name_space = fields.name_space,
                                           .identifier = fields.identifier,
                                           .limit = fields.limit,
                                           .duration = std::chrono::milliseconds{fields.duration},
                                           .cost = fields.cost},
                               .applied = call.overrides.get().match(
                                   {call.caller->workspace, fields.name_space, fields.identifier})};
    if (result.applied != nullptr) {
        result.request.limit = result.applied->value.limit;
        result.request.duration = result.applied->value.duration;
    }
    return result;
}

// Begins the answer: with 429 for a denial if the client prefers that, else with 200.
void begin_decision(Call& call, bool passed) {
    call.notes.outcome = passed ? "passed" : "denied";
    if (passed || !prefers_429(call.request.header("prefer"))) return begin_answer(call, 200);
    begin_answer(call, 429);
    call.reply.header("Preference-Applied", "status=429");
}

// Writes "limit", "remaining", "reset" and, where they exist, "retryAt" and "overrideId", without
// braces.
void write_decision(JsonWriter& json, const Decision& decision, const Override* applied) {
    json.raw(R"("limit":)").number(decision.limit);
    json.raw(R"(,"remaining":)").number(decision.remaining);
    json.raw(R"(,"reset":)").number(decision.reset_at.time_since_epoch().count());
    if (decision.retry_at) {
        json.raw(R"(,"retryAt":)").number(decision.retry_at->time_since_epoch().count());
    }
    if (applied != nullptr) json.raw(R"(,"overrideId":)").text(applied->id);
}

using Spent = insight::Recorder::Spent;

// A decided request, and the counts that the decision was based on.
struct Decided {
    const Request& request;
    const Decision& decision;
    const Override* applied;
    metrics::Source source;
    Spent spent;
};

void count_decision(const Call& call, const Decided& decided) {
    const auto& [request, decision, applied, source, spent] = decided;
    if (call.context.recorder != nullptr) call.context.recorder->count(request, decision, spent);
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

// Writes the body of an answer to one request.
using WriteBody = void (*)(Call&, const Decision&, const Override* applied);

// The parameters of a decision that its answer depends on.
struct LimitParameters {
    Request request;
    const Override* applied;
    UnixTime now;
    WriteBody write;
    bool is_debit = false;
};

void write_v2(Call& call, const Decision& decision, const Override* applied) {
    JsonWriter json = open_data(call);
    json.raw(R"({"success":)").boolean(decision.passed).raw(",");
    write_decision(json, decision, applied);
    json.raw("}}");
}

// The v1 API has no envelope, no "retryAt" and no "overrideId".
void write_v1(Call& call, const Decision& decision, const Override* /*applied*/) {
    JsonWriter json(call.reply.body());
    json.raw(R"({"success":)").boolean(decision.passed);
    json.raw(R"(,"limit":)").number(decision.limit);
    json.raw(R"(,"remaining":)").number(decision.remaining);
    json.raw(R"(,"reset":)").number(decision.reset_at.time_since_epoch().count()).raw("}");
}

void answer_decision(Call& call,
                     const Result<Decision>& decision,
                     const LimitParameters& parameters,
                     metrics::Source source) {
    if (!decision) return answer_undecided(call, decision.error());
    const bool has_spent = decision->passed || parameters.is_debit;
    count_decision(call,
                   {.request = parameters.request,
                    .decision = *decision,
                    .applied = parameters.applied,
                    .source = source,
                    .spent = has_spent ? Spent::kCost : Spent::kNothing});

    begin_decision(call, decision->passed);
    add_rate_limit_fields(call.reply, *decision, parameters.request.duration, parameters.now);
    if (!decision->passed) add_retry_after(call.reply, retry_time(*decision), parameters.now);
    parameters.write(call, *decision, parameters.applied);
}

// Has the origin consulted before the request is answered.
void decide_later(Call& call, const LimitParameters& parameters) {
    std::optional<Override> applied;
    if (parameters.applied != nullptr) applied = *parameters.applied;
    const auto span = begin_span(call, "ratelimit.limit", {&parameters.request, 1});
    const auto request = std::make_shared<const OwnedRequests>(std::span(&parameters.request, 1));
    const auto deferred = DeferredCall::take(call, metrics::Route::kLimit);
    call.context.limiter.limit_async(
        parameters.request,
        parameters.now,
        [deferred, span, applied, request, parameters](Result<Decision> decision) {
            end_span(span, decision);
            DeferredCall::answer(
                deferred,
                [applied, request, parameters, decision = std::move(decision)](Call& resumed) {
                    LimitParameters owned = parameters;
                    owned.request = request->all()[0];
                    owned.applied = applied ? &*applied : nullptr;
                    answer_decision(resumed, decision, owned, metrics::Source::kOrigin);
                });
        });
}

void decide(Call& call, Schema schema, WriteBody write) {
    const UnixTime now = decision_time(call);
    Fields fields;
    fields.name_space = "default";  // v1 requests may omit it
    if (!read_fields(call, schema, fields)) return;

    const auto [request, applied] = apply_override(call, fields);
    const LimitParameters parameters{request, applied, now, write, fields.debit};
    if (fields.debit) {
        const auto debited = call.context.limiter.debit(request, now);
        return answer_decision(call, debited, parameters, metrics::Source::kLocal);
    }
    const auto decision = call.context.limiter.try_limit(request, now);
    if (!decision) return decide_later(call, parameters);
    answer_decision(call, *decision, parameters, metrics::Source::kLocal);
}

// The parameters of a batch that its answer depends on.
struct BatchParameters {
    std::span<const Request> requests;
    std::span<const Override* const> applied;  // one for each request; null if none applies
    UnixTime now;
};

// Fills scratch.requests and scratch.applied. These and scratch.items keep their memory, so that a
// batch of any size allocates nothing here.
void apply_overrides(Call& call) {
    Scratch& scratch = call.scratch;
    scratch.requests.clear();
    scratch.applied.clear();
    for (const Fields& item : scratch.items) {
        const auto [request, applied] = apply_override(call, item);
        scratch.requests.push_back(request);
        scratch.applied.push_back(applied);
    }
}

bool check_namespaces(Call& call) {
    return std::ranges::all_of(call.scratch.items, [&call](const Fields& item) {
        return check_namespace(call, item.name_space);
    });
}

void add_batch_fields(Call& call, const BatchDecision& batch, const BatchParameters& parameters) {
    const std::size_t worst = most_restrictive(batch.decisions);
    const Decision& decision = batch.decisions[worst];
    add_rate_limit_fields(
        call.reply, decision, parameters.requests[worst].duration, parameters.now);
    if (!batch.passed) add_retry_after(call.reply, retry_time(decision), parameters.now);
}

void write_items(JsonWriter& json,
                 const BatchParameters& parameters,
                 std::span<const Decision> decisions) {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        json.raw(i == 0 ? R"({"namespace":)" : R"(,{"namespace":)")
            .text(parameters.requests[i].name_space);
        json.raw(R"(,"identifier":)").text(parameters.requests[i].identifier);
        json.raw(R"(,"passed":)").boolean(decisions[i].passed).raw(",");
        write_decision(json, decisions[i], parameters.applied[i]);
        json.raw("}");
    }
}

void answer_batch(Call& call,
                  const Result<BatchDecision>& batch,
                  const BatchParameters& parameters,
                  metrics::Source source) {
    if (!batch) return answer_undecided(call, batch.error());
    for (std::size_t i = 0; i < batch->decisions.size(); ++i) {
        count_decision(call,
                       {.request = parameters.requests[i],
                        .decision = batch->decisions[i],
                        .applied = parameters.applied[i],
                        .source = source,
                        .spent = batch->passed ? Spent::kCost : Spent::kNothing});
    }

    begin_decision(call, batch->passed);
    add_batch_fields(call, *batch, parameters);
    JsonWriter json = open_data(call);
    json.raw(R"({"passed":)").boolean(batch->passed).raw(R"(,"limits":[)");
    write_items(json, parameters, batch->decisions);
    json.raw("]}}");
}

// A copy of BatchParameters that outlives the request.
class OwnedBatchParameters {
  public:
    explicit OwnedBatchParameters(const BatchParameters& from)
        : requests_(from.requests), now_(from.now) {
        overrides_.reserve(from.applied.size());  // so that pointers into it stay valid
        for (const Override* applied : from.applied) {
            if (applied != nullptr) overrides_.push_back(*applied);
            applied_.push_back(applied == nullptr ? nullptr : &overrides_.back());
        }
    }
    BatchParameters view() const { return {requests_.all(), applied_, now_}; }

  private:
    const OwnedRequests requests_;
    std::vector<Override> overrides_;
    std::vector<const Override*> applied_;
    const UnixTime now_;
};

// Has the origin consulted before the batch is answered.
void decide_batch_later(Call& call, const BatchParameters& parameters) {
    const auto owned = std::make_shared<const OwnedBatchParameters>(parameters);
    const auto span = begin_span(call, "ratelimit.multiLimit", parameters.requests);
    const auto deferred = DeferredCall::take(call, metrics::Route::kMultiLimit);
    call.context.limiter.limit_many_async(
        parameters.requests, parameters.now, [deferred, span, owned](Result<BatchDecision> batch) {
            end_span(span, batch);
            DeferredCall::answer(deferred, [owned, batch = std::move(batch)](Call& resumed) {
                answer_batch(resumed, batch, owned->view(), metrics::Source::kOrigin);
            });
        });
}

}  // namespace

void answer_limit(Call& call) {
    decide(call, kDecisionSchema, write_v2);
}

void answer_v1_limit(Call& call) {
    decide(call, kV1DecisionSchema, write_v1);
}

void answer_multi_limit(Call& call) {
    Scratch& scratch = call.scratch;
    const UnixTime now = decision_time(call);
    scratch.reader.read_array(call.request.body, kBatchItemSchema, scratch.items, scratch.errors);
    if (!scratch.errors.empty()) return answer_field_errors(call);
    if (!check_namespaces(call)) return;

    apply_overrides(call);
    const BatchParameters parameters{scratch.requests, scratch.applied, now};
    const auto batch = call.context.limiter.try_limit_many(scratch.requests, now);
    if (!batch) return decide_batch_later(call, parameters);
    answer_batch(call, *batch, parameters, metrics::Source::kLocal);
}

}  // namespace sluice::http
