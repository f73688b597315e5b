#include "http/api/error_answer.h"
#include "http/api/routes.h"

namespace sluice::http {

// The process runs and this thread answers.
void answer_health(Call& call) {
    begin_answer(call, 200);
    open_data(call).raw(R"({"status":"live"}})");
}

// The same, in the words of Unkey's API.
void answer_liveness(Call& call) {
    begin_answer(call, 200);
    open_data(call).raw(R"({"message":"we're cooking"}})");
}

// Whether a balancer should send requests here. A node whose shared stores are unavailable is still
// ready, since it decides from what it holds: `degraded` names what is unavailable.
void answer_ready(Call& call) {
    switch (call.context.readiness.load(std::memory_order_relaxed)) {
        case Readiness::kStarting:
            return answer_error(call, 503, "The server is starting.");
        case Readiness::kDraining:
            return answer_error(call, 503, "The server is draining.");
        case Readiness::kReady:
            break;
    }
    begin_answer(call, 200);
    const Stats stats = call.context.limiter.stats();
    JsonWriter json = open_data(call);
    json.raw(R"({"status":"ready","degraded":[)");
    if (stats.origin.unavailable) json.raw(R"("origin")");
    if (stats.global.unavailable)
        json.raw(stats.origin.unavailable ? R"(,"global")" : R"("global")");
    json.raw("]}}");
}

void answer_metrics(Call& call) {
    call.reply.begin(200, metrics::kTextContentType);
    call.context.metrics.write(call.reply.body());
}

}  // namespace sluice::http
