#include "server/node.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <sched.h>

#include "base/clock.h"
#include "config/catalog.h"
#include "http/wire/listener.h"
#include "server/rate_limit_methods.h"
#include "server/rate_limit_routes.h"
#include "server/resources.h"
#include "server/version.h"
#include "server/wire_settings.h"
#include "server/worker.h"

namespace sluice::server {
namespace {

// The cores that this process may use: fewer than the machine has under taskset or in a container.
std::size_t usable_cores() {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        return static_cast<std::size_t>(CPU_COUNT(&cores));
    return std::max(1U, std::thread::hardware_concurrency());
}

config::Settings with_threads(config::Settings settings) {
    if (settings.threads == 0) settings.threads = usable_cores();
    return settings;
}

// The least time to flush unsynced counts to the origin, even if draining took all of its time.
constexpr std::chrono::milliseconds kMinFlushTime{200};

// Reports go by way of the origin. Without one there is no other node.
std::function<void(std::string, insight::Observer::Options::Notes)> exchange_of(
    const config::Settings& settings, Limiter& limiter) {
    if (settings.origin.empty()) return {};
    return [&limiter](std::string report, insight::Observer::Options::Notes notes) {
        if (!notes) return limiter.leave_note(std::move(report), nullptr);
        limiter.leave_note(std::move(report), std::move(notes));
    };
}

}  // namespace

Node::Node(config::Settings settings,
           Log& log,
           std::unique_ptr<ThreadFailures> failures,
           Limiter limiter,
           PassedSockets sockets)
    : started_at_(exact_wall_time()),
      settings_(with_threads(std::move(settings))),
      log_(log),
      failures_(std::move(failures)),
      sockets_(std::move(sockets)),
      limiter_(std::move(limiter)),
      tokens_(settings_.tokens),
      metrics_({.version = kVersion,
                .region = settings_.region,
                .threads = settings_.threads,
                .read = [this] { return read(); },
                .write_more =
                    [this](std::string& out) {
                        if (rule_service_ != nullptr) rule_service_->write_metrics(out);
                    }}),
      observer_({.seed = system_random(),
                 .read_status = [this] { return read_status(); },
                 .read_latency = [this] { return read_latency(); },
                 .exchange = exchange_of(settings_, limiter_),
                 .on_second =
                     [this] {
                         if (admin_ != nullptr) admin_->send_events();
                     },
                 .on_failure = [this](std::string_view why) { log_observation_failure(log_, why); },
                 .on_thread_failure = failures_->reporter()}) {}

// Pending responses end on the workers, so the stores that they wait for are closed first.
Node::~Node() {
    if (rule_service_ != nullptr) rule_service_->set_listener(nullptr);
    observer_.stop();
    if (override_changes_ != nullptr) override_changes_->close();
    limiter_.close(std::chrono::milliseconds::zero());
}

Result<std::unique_ptr<Node>> Node::start(const config::Settings& settings,
                                          Log& log,
                                          PassedSockets sockets) {
    auto failures = std::make_unique<ThreadFailures>(log);
    auto limiter = open_limiter(settings, log, failures->reporter());
    if (!limiter) return std::move(limiter).error();
    std::unique_ptr<Node> node(
        new Node(settings, log, std::move(failures), *std::move(limiter), std::move(sockets)));
    if (auto failed = node->open()) return *std::move(failed);
    return node;
}

std::optional<Error> Node::open() {
    if (auto failed = open_overrides()) return failed;
    if (auto failed = open_tls()) return failed;
    if (auto failed = open_rules()) return failed;
    if (auto failed = open_tracer()) return failed;
    if (auto failed = start_workers()) return failed;
    if (auto failed = start_admin()) return failed;
    observer_.start();
    readiness_.store(http::Readiness::kReady, std::memory_order_relaxed);
    if (rule_service_ != nullptr) rule_service_->set_listener([this] { publish_health(); });
    publish_health();  // clients may have connected before
    return std::nullopt;
}

void Node::publish_health() {
    for (const auto& worker : workers_)
        worker->publish_health();
}

std::optional<Error> Node::open_overrides() {
    auto set = server::open_overrides(settings_, log_);
    if (!set) return std::move(set).error();
    overrides_ = *std::move(set);
    override_changes_ = start_override_changes(settings_, *overrides_, log_, failures_->reporter());
    return std::nullopt;
}

std::optional<Error> Node::open_rules() {
    if (settings_.rules.empty()) return std::nullopt;
    auto service = RuleService::start(settings_, log_, failures_->reporter());
    if (!service) return std::move(service).error();
    rule_service_ = *std::move(service);
    return std::nullopt;
}

std::optional<Error> Node::open_tracer() {
    if (settings_.trace.endpoint.empty()) return std::nullopt;
    auto tracer = start_tracer(settings_, log_, failures_->reporter());
    if (!tracer) return std::move(tracer).error();
    tracer_ = *std::move(tracer);
    return std::nullopt;
}

std::optional<Error> Node::open_tls() {
    if (!settings_.tls.enabled()) return std::nullopt;
    auto context = load_tls(settings_.tls);
    if (!context) return std::move(context).error();
    tls_ = std::make_shared<http::TlsSlot>(*std::move(context));
    return std::nullopt;
}

std::optional<Error> Node::start_workers() {
    const auto failed = [&](const Error& error) {
        return setting_error(
            "listen", "\"" + config::to_string(settings_.listen) + "\"", error.message);
    };
    const auto places = sockets_.places("listen", settings_.listen, settings_.threads);
    if (!places) return failed(places.error());
    const http::WireLimits limits = wire_limits(settings_, raise_connection_limit(settings_, log_));
    for (std::size_t i = 0; i < settings_.threads; ++i) {
        workers_.push_back(std::make_unique<Worker>(
            api_context(metrics_.thread(i), settings_.listen, http::ListenerRole::kPublic),
            Worker::Options{.listener = {.limits = limits, .tls = tls_},
                            .log = log_,
                            .log_requests = settings_.log.requests,
                            .observer = observer_,
                            .on_thread_failure = failures_->reporter()}));
        const auto port = workers_.back()->listen((*places)[i]);
        if (!port) return failed(port.error());
        settings_.listen.port = *port;
    }
    if (auto failure = listen_grpc(limits)) return failure;
    for (const auto& worker : workers_)
        worker->run();
    return std::nullopt;
}

// gRPC has a listener on each worker's event loop.
std::optional<Error> Node::listen_grpc(const http::WireLimits& limits) {
    if (!settings_.grpc.listen) return std::nullopt;
    config::Address& wanted = *settings_.grpc.listen;
    const auto failed = [&](const Error& error) {
        return setting_error("grpc.listen", "\"" + config::to_string(wanted) + "\"", error.message);
    };
    const auto places = sockets_.places("grpc.listen", wanted, workers_.size());
    if (!places) return failed(places.error());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        const auto port =
            workers_[i]->listen_grpc((*places)[i], grpc_options(limits, workers_[i]->recorder()));
        if (!port) return failed(port.error());
        wanted.port = *port;
    }
    return std::nullopt;
}

GrpcEndpoint::Options Node::grpc_options(http::WireLimits limits, insight::Recorder* recorder) {
    const config::GrpcSettings& wanted = settings_.grpc;
    limits.idle_timeout = wanted.idle_timeout;
    return {.listener = {.limits = limits, .tls = tls_},
            .limits = {.streams = static_cast<std::uint32_t>(wanted.max_streams),
                       .message = wanted.max_message_bytes},
            .age = {.most = wanted.max_connection_age, .grace = wanted.max_connection_age_grace},
            .add_methods =
                [this, recorder](grpc::MethodRegistry& methods) {
                    if (rule_service_ != nullptr)
                        add_rate_limit_methods(
                            rule_service_->parts(
                                limiter_, *overrides_, &observer_.activity(), recorder),
                            tracer_.get(),
                            methods);
                },
            .is_serving = [this] { return is_serving(); },
            .descriptors = descriptors_,
            .log = log_};
}

bool Node::is_serving() const {
    return readiness_.load(std::memory_order_relaxed) == http::Readiness::kReady &&
           (rule_service_ == nullptr || rule_service_->is_healthy());
}

// Runs after the workers listen, so that an address that both settings name is reported as taken.
std::optional<Error> Node::start_admin() {
    if (!settings_.admin_listen) return std::nullopt;
    config::Address& wanted = *settings_.admin_listen;
    const auto failed = [&](const Error& error) {
        return setting_error(
            "admin_listen", "\"" + config::to_string(wanted) + "\"", error.message);
    };
    const auto places = sockets_.places("admin_listen", wanted, 1);
    if (!places) return failed(places.error());
    const http::ApiContext context =
        api_context(metrics_.admin_thread(),
                    wanted,
                    config::is_loopback(wanted) ? http::ListenerRole::kAdmin
                                                : http::ListenerRole::kProtectedAdmin);
    admin_ = std::make_unique<Worker>(
        context,
        Worker::Options{.listener = {.limits = admin_limits(settings_), .tls = tls_},
                        .log = log_,
                        .log_requests = settings_.log.requests,
                        .observer = observer_,
                        .on_thread_failure = failures_->reporter()});
    const auto port = admin_->listen(places->front());
    if (!port) return failed(port.error());
    wanted.port = *port;
    admin_->run();
    return std::nullopt;
}

http::ApiContext Node::api_context(metrics::ThreadMetrics& thread_metrics,
                                   const config::Address& address,
                                   http::ListenerRole role) {
    return {
        .limiter = limiter_,
        .overrides = *overrides_,
        .override_changes = *override_changes_,
        .namespaces = namespaces_,
        .tokens = tokens_,
        .metrics = metrics_,
        .thread_metrics = thread_metrics,
        .readiness = readiness_,
        .clock = settings_.test_clock ? http::ClockSource::kRequest : http::ClockSource::kSystem,
        .role = role,
        .hosts = host_rule(settings_, address, role),
        .tracer = tracer_.get(),
        .rate_limits =
            role == http::ListenerRole::kPublic ? rate_limits() : http::RateLimitService{},
        .observer = &observer_};
}

http::RateLimitService Node::rate_limits() {
    if (rule_service_ == nullptr) return {};
    return {.decide = rate_limit_route(
                rule_service_->parts(limiter_, *overrides_, &observer_.activity())),
            .is_healthy = [this] { return is_serving(); }};
}

bool Node::reload(const Result<config::Loaded>& loaded) {
    const auto failed = loaded ? apply(loaded->settings) : loaded.error();
    if (failed) {
        metrics_.count_reload(metrics::Success::kFailed);
        log_.error("reload_refused", {{"why", failed->message}});
        return false;
    }
    metrics_.count_reload(metrics::Success::kOk);
    const std::string changed = settings_needing_restart(loaded->settings);
    log_.info("reloaded", {{"tokens", settings_.tokens.size()}, {"tls", tls_ != nullptr}});
    if (!changed.empty()) log_.warn("restart_needed", {{"changed", changed}});
    return true;
}

bool Node::reload_certificate(CertificateLoad why) {
    auto context = load_tls(settings_.tls);
    if (!context) {
        const std::string& message = context.error().message;
        if (why == CertificateLoad::kRetry && message == certificate_failure_) return false;
        certificate_failure_ = message;
        metrics_.count_reload(metrics::Success::kFailed);
        log_.error("reload_refused", {{"why", message}});
        return false;
    }
    tls_->replace(*std::move(context));
    metrics_.count_reload(metrics::Success::kOk);
    log_.info("reloaded", {{"why", "the files of the certificate have changed"}});
    return true;
}

// Everything that can fail comes before the first change.
std::optional<Error> Node::apply(const config::Settings& wanted) {
    if (wanted.tokens.empty() && !config::is_loopback(settings_.listen)) {
        return setting_error("tokens",
                             "empty",
                             "the server listens on " + config::to_string(settings_.listen) +
                                 ", which is not on loopback and needs at least one token");
    }
    // A file that was read while it was being written must not open the server to everyone.
    if (wanted.tokens.empty() && !settings_.tokens.empty()) {
        return setting_error("tokens", "empty", "removing the last token needs a restart");
    }
    // For the same reason.
    if (wanted.tls.client_ca.empty() && !settings_.tls.client_ca.empty()) {
        return setting_error("tls.client_ca", "empty", "removing it needs a restart");
    }
    std::shared_ptr<const http::TlsContext> certificate;
    if (tls_ != nullptr && wanted.tls.enabled()) {
        auto context = load_tls(wanted.tls);
        if (!context) return std::move(context).error();
        certificate = *std::move(context);
    }
    if (certificate != nullptr) {
        tls_->replace(std::move(certificate));
        settings_.tls = wanted.tls;
    }
    tokens_.replace(wanted.tokens);
    settings_.tokens = wanted.tokens;
    log_.set_level(wanted.log.level);
    settings_.log.level = wanted.log.level;
    return std::nullopt;
}

std::string Node::settings_needing_restart(const config::Settings& wanted) const {
    config::Settings resolved = with_threads(wanted);
    if (resolved.listen.port == 0) resolved.listen.port = settings_.listen.port;
    if (resolved.admin_listen && resolved.admin_listen->port == 0 && settings_.admin_listen)
        resolved.admin_listen->port = settings_.admin_listen->port;
    if (resolved.grpc.listen && resolved.grpc.listen->port == 0 && settings_.grpc.listen)
        resolved.grpc.listen->port = settings_.grpc.listen->port;
    std::string keys;
    for (const config::Setting& setting : config::catalog()) {
        if (setting.show(resolved) == setting.show(settings_)) continue;
        keys += (keys.empty() ? "" : ",") + std::string(setting.key);
    }
    return keys;
}

bool Node::threads_respond() {
    bool all = admin_ == nullptr || admin_->responds();
    for (const auto& worker : workers_)
        all = worker->responds() && all;
    return all;
}

void Node::drain(std::function<void()> drained) {
    drain_ends_ = std::chrono::steady_clock::now() + settings_.drain_timeout;
    readiness_.store(http::Readiness::kDraining, std::memory_order_relaxed);
    draining_.store(workers_.size(), std::memory_order_release);
    for (const auto& worker : workers_) {
        worker->drain(settings_.drain_timeout, [this, drained] {
            if (draining_.fetch_sub(1, std::memory_order_acq_rel) == 1) drained();
        });
    }
}

void Node::close() {
    const std::uint64_t flushed = limiter_.stats().origin.flushed;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        drain_ends_ - std::chrono::steady_clock::now());
    limiter_.close(std::max(left, kMinFlushTime));
    const OriginStats origin = limiter_.stats().origin;
    if (origin.attached) log_.info("origin_closed", {{"flushed", origin.flushed - flushed}});
}

}  // namespace sluice::server
