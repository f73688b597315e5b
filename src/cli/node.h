// Everything that serves requests, put together from settings.
#ifndef SLUICE_CLI_NODE_H_
#define SLUICE_CLI_NODE_H_

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
#include "http/api/api.h"
#include "http/api/token_set.h"
#include "http/wire/tls.h"
#include "log/log.h"
#include "metrics/metrics.h"
#include "overrides/override_changes.h"
#include "overrides/override_set.h"

namespace sluice::cli {

class Worker;

// A node owns the limiter and what stands around it, and one worker per serving thread. It is
// controlled by one thread, which starts, reloads and drains it.
class Node {
  public:
    // Opens what the settings name, binds the address and accepts connections. The error says which
    // setting is of no use, and why; nothing listens then. `log` must outlive the node.
    static Result<std::unique_ptr<Node>> start(const config::Settings& settings, Log& log);

    // Ends at once whatever is still underway.
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    // As given, but with the port and the number of threads that it really has.
    const config::Settings& settings() const { return settings_; }

    // Takes over tokens, log level and certificate; connections stay open. An error changes
    // nothing. What else differs from the settings that the node runs with waits for a restart,
    // which the log tells.
    void reload(const Result<config::Loaded>& loaded);

    // Stops to accept, reports not ready, and answers what is in flight. Calls `drained`, on any
    // thread, when that is done or the drain timeout is over.
    void drain(std::function<void()> drained);

    // After it has drained: tells the origin what it has not heard yet, for up to the drain
    // timeout.
    void close();

  private:
    Node(config::Settings settings, Log& log, Limiter limiter);
    std::optional<Error> open();
    std::optional<Error> open_overrides();
    std::optional<Error> open_tls();
    std::optional<Error> start_workers();
    std::optional<Error> start_admin();
    http::ApiContext api_context(metrics::ThreadMetrics& thread_metrics,
                                 const config::Address& address,
                                 http::Surface surface);
    metrics::Readings read() const;
    std::optional<Error> apply(const config::Settings& wanted);
    std::string waiting_for_restart(const config::Settings& wanted) const;

    config::Settings settings_;
    Log& log_;
    Limiter limiter_;
    std::unique_ptr<overrides::OverrideSet> overrides_;
    std::unique_ptr<overrides::OverrideChanges> override_changes_;
    http::KnownNamespaces namespaces_{system_random()};
    http::CurrentTokens tokens_;
    std::shared_ptr<http::TlsSlot> tls_;  // null: plain HTTP
    // See ApiContext.
    std::atomic<http::Readiness> readiness_{http::Readiness::kStarting};
    metrics::Metrics metrics_;
    // Complete before the first of them runs, and unchanged until all have ended.
    std::vector<std::unique_ptr<Worker>> workers_;
    // Serves the metrics, also while the workers drain. Reads their counters, so it ends first.
    std::unique_ptr<Worker> admin_;
    // How many workers still drain. Each lowers it once; whoever takes it to zero calls `drained`.
    // Acquire and release, so that what the workers did happens before what that call does.
    std::atomic<std::size_t> draining_{0};
    std::chrono::steady_clock::time_point drain_ends_{};
};

}  // namespace sluice::cli

#endif  // SLUICE_CLI_NODE_H_
