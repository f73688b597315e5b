// A server node: limiter, overrides, tokens, TLS and serving threads, built from settings.
#ifndef SLUICE_SERVER_NODE_H_
#define SLUICE_SERVER_NODE_H_

#include <sluice/limiter.h>
#include <sluice/result.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "config/load.h"
#include "config/settings.h"
#include "grpc/descriptor_index.h"
#include "http/api/api.h"
#include "http/api/token_set.h"
#include "http/wire/tls.h"
#include "insight/observer.h"
#include "log/log.h"
#include "metrics/metrics.h"
#include "overrides/override_changes.h"
#include "overrides/override_set.h"
#include "server/certificate_watch.h"
#include "server/grpc_endpoint.h"
#include "server/passed_sockets.h"
#include "server/rule_service.h"
#include "server/thread_failures.h"
#include "trace/tracer.h"

namespace sluice::server {

class Worker;

// Owns the limiter, what requests need besides it, and one worker per serving thread. Owned by one
// thread, which starts, reloads and drains it.
class Node {
  public:
    // Opens what the settings name, binds the address and accepts connections. On an error, which
    // names the setting and the reason, nothing listens. `log` must outlive the node.
    // Listens on `sockets` where a setting's address is theirs.
    static Result<std::unique_ptr<Node>> start(const config::Settings& settings,
                                               Log& log,
                                               PassedSockets sockets = {});

    // Aborts requests in flight.
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // Reports a failure of a thread that works with the node; the node must outlive it.
    OnThreadFailure on_thread_failure() { return failures_->reporter(); }

    // The settings in use, with the actual port and number of threads.
    const config::Settings& settings() const { return settings_; }

    // Applies tokens, log level and certificate; connections stay open. An error changes nothing
    // and is logged. Other differences need a restart; their names are logged. Returns whether they
    // were applied.
    bool reload(const Result<config::Loaded>& loaded);

    // Loads the certificate from the files of the settings in use; otherwise as reload(). A retry
    // that fails like the load before is neither logged nor counted. Requires TLS.
    bool reload_certificate(CertificateLoad why);

    // Whether every serving thread has run its event loop since the last call, which asked it to.
    // Of threads that have, asks the same again.
    bool threads_respond();

    // Stops accepting, reports not ready, and completes requests in flight. Calls `drained`, on any
    // thread, when that is done or the drain timeout has passed.
    void drain(std::function<void()> drained);

    // Flushes unsynced counts to the origin, for what is left of the drain timeout. Requires a
    // drained node.
    void close();

  private:
    Node(config::Settings settings,
         Log& log,
         std::unique_ptr<ThreadFailures> failures,
         Limiter limiter,
         PassedSockets sockets);
    std::optional<Error> open();
    std::optional<Error> open_overrides();
    std::optional<Error> open_tls();
    std::optional<Error> open_rules();
    std::optional<Error> open_tracer();
    std::optional<Error> start_workers();
    std::optional<Error> listen_grpc(const http::WireLimits& limits);
    GrpcEndpoint::Options grpc_options(http::WireLimits limits, insight::Recorder* recorder);
    std::optional<Error> start_admin();
    http::ApiContext api_context(metrics::ThreadMetrics& thread_metrics,
                                 const config::Address& address,
                                 http::ListenerRole role);
    http::RateLimitService rate_limits();
    bool is_serving() const;
    void publish_health();
    metrics::Readings read() const;
    insight::NodeStatus read_status() const;
    insight::LatencyCounts read_latency() const;
    std::optional<Error> apply(const config::Settings& wanted);
    std::string settings_needing_restart(const config::Settings& wanted) const;

    const UnixTime started_at_;
    config::Settings settings_;
    Log& log_;
    const std::unique_ptr<ThreadFailures> failures_;  // never null; the threads hold its address
    // Kept open, so that connections wait in the kernel until the next process serves them.
    const PassedSockets sockets_;
    // Decisions that wait in the limiter end their spans. Null: no traces.
    std::unique_ptr<trace::Tracer> tracer_;
    Limiter limiter_;
    std::unique_ptr<overrides::OverrideSet> overrides_;
    std::unique_ptr<overrides::OverrideChanges> override_changes_;
    http::KnownNamespaces namespaces_{system_random()};
    http::CurrentTokens tokens_;
    const grpc::DescriptorIndex descriptors_{grpc::embedded_descriptors()};
    std::shared_ptr<http::TlsSlot> tls_;         // null: plain HTTP
    std::string certificate_failure_;            // the last of reload_certificate()
    std::unique_ptr<RuleService> rule_service_;  // null: no rate-limit service
    // Written by the owner, read by every worker; relaxed, since nothing is published through it.
    std::atomic<http::Readiness> readiness_{http::Readiness::kStarting};
    metrics::Metrics metrics_;
    // Its thread uses the admin worker, and is stopped before any worker is destroyed.
    insight::Observer observer_;
    // Not changed while any worker runs.
    std::vector<std::unique_ptr<Worker>> workers_;
    // Serves the metrics, also while the workers drain. Reads their counters, so it is destroyed
    // first. Null: no admin listener.
    std::unique_ptr<Worker> admin_;
    // The number of workers that still drain. Each decrements it once, and the last one calls
    // `drained`; acquire-release, so that the work of all happens before that call.
    std::atomic<std::size_t> draining_{0};
    std::chrono::steady_clock::time_point drain_ends_{};
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_NODE_H_
