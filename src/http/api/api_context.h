// What the API works with.
#ifndef SLUICE_HTTP_API_API_CONTEXT_H_
#define SLUICE_HTTP_API_API_CONTEXT_H_

#include <sluice/limiter.h>

#include <atomic>
#include <functional>

#include "http/api/host_rule.h"
#include "http/api/known_namespaces.h"
#include "http/api/request_report.h"
#include "http/api/token_set.h"
#include "metrics/metrics.h"
#include "overrides/override_changes.h"
#include "overrides/override_set.h"

namespace sluice::http {

enum class Readiness { kStarting, kReady, kDraining };

// Whose clock tells the time of a decision.
enum class ClockSource {
    kSystem,
    kRequest,  // the request's X-Test-Time where there is one: for tests, never in production
};

// Which listener an Api answers for.
enum class Surface {
    kPublic,
    kAdmin,           // on loopback: no token is needed
    kProtectedAdmin,  // elsewhere: needs a token that may read metrics
};

// Everything but `thread_metrics`, `post` and `report` is shared by all serving threads and is
// thread-safe. All of it outlives the Api.
struct ApiContext {
    Limiter& limiter;
    const overrides::OverrideSet& overrides;
    overrides::OverrideChanges& override_changes;  // of these
    KnownNamespaces& namespaces;
    const CurrentTokens& tokens;
    const metrics::Metrics& metrics;
    metrics::ThreadMetrics& thread_metrics;
    // Written by the thread that starts and stops the server, read by every serving thread. Relaxed
    // is enough: it publishes nothing, and a probe may see the change a moment later.
    const std::atomic<Readiness>& readiness;
    ClockSource clock = ClockSource::kSystem;
    Surface surface = Surface::kPublic;
    HostRule hosts = {};
    // Has something done on the serving thread, soon. May be called by any thread.
    std::function<void(std::function<void()>)> post = {};
    ReportHooks report = {};
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_API_CONTEXT_H_
