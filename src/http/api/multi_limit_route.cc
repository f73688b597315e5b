#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "http/api/decision_answer.h"
#include "http/api/decision_time.h"
#include "http/api/deferred_call.h"
#include "http/api/error_answer.h"
#include "http/api/rate_limit_fields.h"
#include "http/api/routes.h"
#include "service/pending_decision.h"

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

// What a batch was asked for with.
struct Asked {
    std::span<const Request> requests;
    std::span<const overrides::Override* const> applied;  // null where none applies
    UnixTime now;
};

void add_fields(Call& call, const BatchDecision& batch, const Asked& asked) {
    const std::size_t worst = most_restrictive(batch.decisions);
    const Decision& decision = batch.decisions[worst];
    add_rate_limit_fields(call.reply, decision, asked.requests[worst].duration, asked.now);
    if (!batch.passed) add_retry_after(call.reply, retry_time(decision), asked.now);
}

void write_items(JsonWriter& json, const Asked& asked, std::span<const Decision> decisions) {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        json.raw(i == 0 ? R"({"namespace":)" : R"(,{"namespace":)")
            .text(asked.requests[i].name_space);
        json.raw(R"(,"identifier":)").text(asked.requests[i].identifier);
        json.raw(R"(,"passed":)").boolean(decisions[i].passed).raw(",");
        write_decision(json, decisions[i], asked.applied[i]);
        json.raw("}");
    }
}

void answer_batch(Call& call,
                  const Result<BatchDecision>& batch,
                  const Asked& asked,
                  metrics::Source source) {
    if (!batch) return answer_undecided(call, batch.error());
    for (std::size_t i = 0; i < batch->decisions.size(); ++i)
        count_decision(call, batch->decisions[i], asked.applied[i], source);

    begin_decision(call, batch->passed);
    add_fields(call, *batch, asked);
    JsonWriter json = open_data(call);
    json.raw(R"({"passed":)").boolean(batch->passed).raw(R"(,"limits":[)");
    write_items(json, asked, batch->decisions);
    json.raw("]}}");
}

// What was asked for, kept beyond the request.
class KeptAsked {
  public:
    explicit KeptAsked(const Asked& asked) : owned_(asked.requests), now_(asked.now) {
        overrides_.reserve(asked.applied.size());  // so that they stay where they are
        for (const overrides::Override* applied : asked.applied) {
            if (applied != nullptr) overrides_.push_back(*applied);
            applied_.push_back(applied == nullptr ? nullptr : &overrides_.back());
        }
    }
    Asked asked() const { return {owned_.all(), applied_, now_}; }

  private:
    const OwnedRequests owned_;
    std::vector<overrides::Override> overrides_;
    std::vector<const overrides::Override*> applied_;
    const UnixTime now_;
};

// The origin is asked first.
void answer_later(Call& call, const Asked& asked) {
    const auto kept = std::make_shared<const KeptAsked>(asked);
    const auto late = DeferredCall::take(call, metrics::Route::kMultiLimit);
    call.context.limiter.limit_many_async(
        asked.requests, asked.now, [late, kept](Result<BatchDecision> batch) {
            DeferredCall::answer(late, [kept, batch = std::move(batch)](Call& again) {
                answer_batch(again, batch, kept->asked(), metrics::Source::kOrigin);
            });
        });
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
    const Asked asked{scratch.requests, scratch.applied, now};
    const auto batch = call.context.limiter.try_limit_many(scratch.requests, now);
    if (!batch) return answer_later(call, asked);
    answer_batch(call, *batch, asked, metrics::Source::kLocal);
}

}  // namespace sluice::http
