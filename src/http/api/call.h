// One API request while it is answered, now (Call) or later (DeferredCall), and the functions that
// answer each route.
#ifndef SLUICE_HTTP_API_CALL_H_
#define SLUICE_HTTP_API_CALL_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/api/body_reader.h"
#include "http/api/error_answer.h"
#include "http/api/json.h"
#include "http/api/known_namespaces.h"
#include "http/api/request_headers.h"
#include "http/api/request_report.h"
#include "http/api/token_set.h"
#include "http/wire/exchange.h"
#include "insight/observer.h"
#include "metrics/metrics.h"
#include "overrides/override_changes.h"
#include "overrides/override_set.h"
#include "trace/tracer.h"

namespace sluice::http {

enum class Readiness { kStarting, kReady, kDraining };

// The clock that decisions are made by.
enum class ClockSource {
    kSystem,
    kRequest,  // the request's X-Test-Time where there is one: for tests, never in production
};

class EventStreams;

// The listener that an Api answers for.
enum class ListenerRole {
    kPublic,
    kAdmin,           // on loopback: the metrics need no token
    kProtectedAdmin,  // elsewhere: they need a token that may read them
};

struct Call;

// Envoy's rate-limit service over HTTP, as envoyproxy/ratelimit serves it. Empty functions: the
// server has none.
struct RateLimitService {
    // Answers `/json`. Of the thread that the Api belongs to; call.caller may use the namespaces of
    // its token alone, which the function checks.
    std::function<void(Call&)> decide = {};
    std::function<bool()> is_healthy = {};
};

// The dependencies of an Api, all of which outlive it. Everything but `thread_metrics`, `recorder`,
// `post`, `report` and `rate_limits` is shared by all serving threads and is thread-safe.
struct ApiContext {
    Limiter& limiter;
    const overrides::OverrideSet& overrides;
    overrides::OverrideChanges& override_changes;
    KnownNamespaces& namespaces;
    const CurrentTokens& tokens;
    const metrics::Metrics& metrics;
    metrics::ThreadMetrics& thread_metrics;
    // Written by the thread that starts and stops the server, read by every serving thread. Relaxed
    // is enough: it publishes nothing, and a probe may see the change a moment later.
    const std::atomic<Readiness>& readiness;
    ClockSource clock = ClockSource::kSystem;
    ListenerRole role = ListenerRole::kPublic;
    HostRule hosts = {};
    trace::Tracer* tracer = nullptr;  // null: decisions that wait are not traced
    // Runs a function on the serving thread, soon. May be called by any thread.
    std::function<void(std::function<void()>)> post = {};
    ReportHooks report = {};
    RateLimitService rate_limits = {};
    insight::Recorder* recorder = nullptr;        // null: decisions are not counted
    const insight::Observer* observer = nullptr;  // null on the public listener
};

// Memory that the requests of one thread reuse, so that a request need not allocate.
struct Scratch {
    BodyReader reader;
    FieldErrors errors;  // empty when a call starts
    std::vector<Fields> items;
    std::vector<Request> requests;
    std::vector<const overrides::Override*> applied;  // one for each request; null if none applies
};

struct Call {
    const RequestView& request;
    Reply& reply;
    const ApiContext& context;
    Scratch& scratch;
    const overrides::OverrideSet::Reader& overrides;
    const Caller* caller;  // null on routes that need no token
    std::string_view request_id;
    ErrorFormat error_format;
    ReportNotes& notes;
    Completion& completion;
    EventStreams* streams = nullptr;  // null in a DeferredCall
    bool is_deferred = false;         // a DeferredCall has taken over
    bool is_stream = false;           // an EventStreams has taken over
};

// Starts an answer. Header fields may follow, then open_data().
void begin_answer(Call& call, int status);

// Writes {"meta":{...},"data": and leaves the value and the closing brace to the caller.
JsonWriter open_data(Call& call);

// Reads the body as one object and checks its namespace. False: 400, for call.scratch.errors, or
// 403 was answered.
bool read_fields(Call& call, Schema schema, Fields& fields);

// Returns the current time, or that of X-Test-Time with ClockSource::kRequest. An invalid value is
// added to call.scratch.errors.
UnixTime decision_time(Call& call);

// False: the caller's token doesn't cover the namespace, and 403 was answered.
bool check_namespace(Call& call, std::string_view name_space);

// Passes an answered request to the report hook.
void report_answer(const Call& call, std::chrono::steady_clock::duration took);

// A call that is answered after its handler has returned: it owns copies of the parts of the
// request that the answer depends on, and the Completion. Owned by the serving thread; only
// answer() may be called by another.
class DeferredCall {
  public:
    using Clock = std::chrono::steady_clock;

    // Takes over the answer to `call`.
    static std::shared_ptr<DeferredCall> take(Call& call, metrics::Route route);

    // Posts `write` to the serving thread, where it writes the answer, and sends that.
    static void answer(const std::shared_ptr<DeferredCall>& deferred,
                       std::function<void(Call&)> write);

  private:
    DeferredCall(Call& call, metrics::Route route);
    void finish(const std::function<void(Call&)>& write);

    const ApiContext& context_;
    Scratch& scratch_;
    const overrides::OverrideSet::Reader& overrides_;
    const metrics::Route route_;
    const Clock::time_point began_ = Clock::now();
    const std::string request_id_;
    const ErrorFormat error_format_;
    const std::string method_;
    const std::string path_;
    const std::string peer_;
    ReportNotes notes_;
    std::string header_texts_;
    RequestView request_;
    Reply& reply_;
    Completion completion_;
};

// The routes. Api has authorised the request and checked its content type.
void answer_limit(Call& call);
void answer_v1_limit(Call& call);
void answer_multi_limit(Call& call);
void answer_inspect(Call& call);

void answer_set_override(Call& call);
void answer_get_override(Call& call);
void answer_list_overrides(Call& call);
void answer_delete_override(Call& call);
void answer_override_log(Call& call);

void answer_rate_limit(Call& call);
void answer_healthcheck(Call& call);

void answer_health(Call& call);
void answer_liveness(Call& call);
void answer_ready(Call& call);
void answer_metrics(Call& call);

// On the admin listener.
void answer_top_keys(Call& call);
void answer_caller(Call& call);
void answer_status(Call& call);
void answer_traffic(Call& call);
void answer_fleet(Call& call);
void answer_events(Call& call);

// The request's path is that of a file of the page.
void answer_page(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_CALL_H_
