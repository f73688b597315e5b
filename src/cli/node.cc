#include "cli/node.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <sched.h>
#include <sys/resource.h>

#include "cli/data_dir.h"
#include "cli/open_overrides.h"
#include "cli/tls_files.h"
#include "cli/version.h"
#include "cli/worker.h"
#include "config/catalog.h"
#include "config/token.h"
#include "http/wire/listener.h"
#include "service/global_store_url.h"
#include "service/open_origin.h"
#include "service/test_options.h"

namespace sluice::cli {
namespace {

// Those cores that this process may use, which are fewer than the machine's under taskset or in a
// container's cpuset.
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

// How many connections there can be: as many as wanted if the system allows so many open files. Its
// usual limit of 1024 is meant for programs that use select(), and may be raised.
std::size_t possible_connections(const config::Settings& settings, Log& log) {
    constexpr rlim_t kOthers = 256;  // files that are no connections
    const std::size_t wanted = settings.http.max_connections;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted + kOthers) return wanted;
    const std::size_t possible = limit.rlim_max > 2 * kOthers ? limit.rlim_max - kOthers : kOthers;
    const bool is_asked_for = wanted != config::HttpSettings{}.max_connections;
    if (is_asked_for) {
        log.warn("few_files",
                 {{"why", "the system allows fewer open files than http.max_connections needs"},
                  {"max_connections", possible}});
    }
    return possible;
}

Error about(const char* setting, const std::string& value, const std::string& why) {
    return {kInvalidOption, std::string(setting) + " is " + value + ": " + why};
}

// A thread with less would close connections that have a few large requests underway.
constexpr std::size_t kLeastBuffered = 4UL * 1024 * 1024;

http::WireLimits wire_limits(const config::Settings& settings, std::size_t connections) {
    http::WireLimits limits;
    const config::HttpSettings& http = settings.http;
    limits.connections = (connections + settings.threads - 1) / settings.threads;
    limits.buffered = std::max(http.max_buffered_bytes / settings.threads, kLeastBuffered);
    limits.pipelined = http.max_pipelined;
    limits.header_timeout = http.header_timeout;
    limits.body_timeout = http.body_timeout;
    limits.idle_timeout = http.idle_timeout;
    limits.write_timeout = http.write_timeout;
    return limits;
}

// A few scrapers at a time, with some large answers that they have not read yet.
http::WireLimits admin_limits(const config::Settings& settings) {
    http::WireLimits limits = wire_limits(settings, 0);
    limits.connections = 64;
    limits.buffered = kLeastBuffered;
    return limits;
}

// Behind a proxy the hosts are the proxy's to pick; the admin listener is not behind it. On another
// address than loopback's requests need a token, which a web site does not have.
http::HostRule host_rule(const config::Settings& settings,
                         const config::Address& address,
                         http::Surface surface) {
    const bool is_proxied = settings.behind_proxy && surface == http::Surface::kPublic;
    if (is_proxied || !config::is_loopback(address)) return {};
    return http::HostRule::local(settings.allowed_hosts);
}

// What is left to tell the origin is told even if draining took all its time.
constexpr std::chrono::milliseconds kLeastToTell{200};

// Without a region to share with, counts outlive the process in its own folder, if it has one.
std::string origin_of(const config::Settings& settings) {
    if (!settings.origin.empty() || settings.data_dir.empty()) return settings.origin;
    return "sqlite:" + (std::filesystem::path(settings.data_dir) / "counts.db").string();
}

// Enough of the hash to find an identifier that is known; identifiers are not logged.
std::string short_hash(std::string_view identifier) {
    return config::to_hex(config::sha256_of(identifier)).substr(0, 16);
}

Options limiter_options(const config::Settings& settings, Log& log) {
    const config::OriginTlsSettings& tls = settings.origin_tls;
    return {.region = settings.region,
            .max_keys = settings.max_keys,
            .origin = origin_of(settings),
            .origin_tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key},
            .origin_timeout = settings.origin_timeout,
            .on_origin_change =
                [&log](const OriginChange& change) {
                    if (change.unavailable) {
                        log.warn("origin_unavailable", {{"why", change.why}});
                    } else {
                        log.info("origin_recovered");
                    }
                },
            .on_origin_clock_offset =
                [&log](std::chrono::milliseconds offset) {
                    log.warn("origin_clock_offset", {{"offset_ms", offset.count()}});
                },
            .global = settings.global,
            .global_replica = settings.global_replica,
            .global_cleanup = settings.global_cleanup,
            .on_global_change =
                [&log](const GlobalChange& change) {
                    if (change.unavailable) {
                        log.warn("global_unavailable", {{"why", change.why}});
                    } else {
                        log.info("global_recovered");
                    }
                },
            .on_global_refusal =
                [&log](const GlobalRefusal& refusal) {
                    log.warn("global_rows_refused",
                             {{"rows", refusal.rows},
                              {"namespace", refusal.name_space},
                              {"identifier_bytes", refusal.identifier.size()},
                              {"identifier_sha256", short_hash(refusal.identifier)},
                              {"why", refusal.why}});
                }};
}

double seconds_of(std::optional<std::chrono::milliseconds> age) {
    return age ? std::chrono::duration<double>(*age).count() : -1;
}

metrics::GlobalReadings readings_of(const GlobalStats& stats) {
    if (!stats.attached) return {};
    return {.unavailable = stats.unavailable,
            .publish_unavailable = stats.publish_unavailable,
            .import_unavailable = stats.import_unavailable,
            .breaker_open = stats.breaker_open,
            .publish_breaker_open = stats.publish_breaker_open,
            .import_breaker_open = stats.import_breaker_open,
            .writes = stats.rows_published,
            .write_errors = stats.publish_failures,
            .writes_given_up = stats.rows_given_up,
            .rows_refused = stats.rows_refused,
            .republishes = stats.republishes,
            .rows_forgotten = stats.rows_forgotten,
            .rows_applied = stats.cells_imported,
            .import_errors = stats.import_failures,
            .import_cells_dropped = stats.cells_dropped,
            .rows_last_poll = stats.cells_last_import,
            .entries_created = stats.keys_created,
            .entries_skipped = stats.keys_skipped,
            .rows_cleaned = stats.rows_cleaned,
            .publish_lag = seconds_of(stats.publish_lag),
            .since_publish = seconds_of(stats.since_publish),
            .import_lag = seconds_of(stats.since_import)};
}

Error refused_limiter(const config::Settings& settings, const Error& error) {
    if (error.code == kOutOfMemory)
        return about("max_keys", std::to_string(settings.max_keys), error.message);
    if (error.code == kOutOfThreads) return error;
    if (error.message.starts_with("global"))
        return about("global", "\"" + shown_global(settings.global) + "\"", error.message);
    if (!settings.origin.empty())
        return about("origin", "\"" + shown_origin(settings.origin) + "\"", error.message);
    return about("data_dir", "\"" + settings.data_dir + "\"", error.message);
}

}  // namespace

Node::Node(config::Settings settings, Log& log, Limiter limiter)
    : settings_(with_threads(std::move(settings))),
      log_(log),
      limiter_(std::move(limiter)),
      tokens_(settings_.tokens),
      metrics_({.version = kVersion,
                .region = settings_.region,
                .threads = settings_.threads,
                .read = [this] { return read(); }}) {}

// Answers that wait for a store are written by workers, so what waits goes first.
Node::~Node() {
    if (override_changes_ != nullptr) override_changes_->close();
    limiter_.close(std::chrono::milliseconds::zero());
}

Result<std::unique_ptr<Node>> Node::start(const config::Settings& settings, Log& log) {
    if (auto failed = open_data_dir(settings.data_dir, log)) return *std::move(failed);
    auto limiter = create_limiter(limiter_options(settings, log),
                                  {.global_interval = settings.test_global_interval});
    if (!limiter) return refused_limiter(settings, limiter.error());
    std::unique_ptr<Node> node(new Node(settings, log, *std::move(limiter)));
    if (auto failed = node->open()) return *std::move(failed);
    return node;
}

std::optional<Error> Node::open() {
    if (auto failed = open_overrides()) return failed;
    if (auto failed = open_tls()) return failed;
    if (auto failed = start_workers()) return failed;
    if (auto failed = start_admin()) return failed;
    readiness_.store(http::Readiness::kReady, std::memory_order_relaxed);
    return std::nullopt;
}

std::optional<Error> Node::open_overrides() {
    auto set = cli::open_overrides(settings_, log_);
    if (!set) return std::move(set).error();
    overrides_ = *std::move(set);
    override_changes_ = start_changes(settings_, *overrides_, log_);
    return std::nullopt;
}

std::optional<Error> Node::open_tls() {
    if (!settings_.tls.enabled()) return std::nullopt;
    auto context = http::TlsContext::load(tls_files(settings_.tls));
    if (!context) return std::move(context).error();
    tls_ = std::make_shared<http::TlsSlot>(*std::move(context));
    return std::nullopt;
}

std::optional<Error> Node::start_workers() {
    const auto failed = [&](const Error& error) {
        return about("listen", "\"" + config::to_string(settings_.listen) + "\"", error.message);
    };
    const auto address =
        http::claim({.host = settings_.listen.host, .port = settings_.listen.port});
    if (!address) return failed(address.error());
    const http::WireLimits limits = wire_limits(settings_, possible_connections(settings_, log_));
    for (std::size_t i = 0; i < settings_.threads; ++i) {
        workers_.push_back(std::make_unique<Worker>(
            api_context(metrics_.thread(i), settings_.listen, http::Surface::kPublic),
            Worker::Options{.listener = {.limits = limits, .tls = tls_},
                            .log = log_,
                            .log_requests = settings_.log.requests}));
        const auto port = workers_.back()->listen(*address);
        if (!port) return failed(port.error());
        settings_.listen.port = *port;
    }
    for (const auto& worker : workers_)
        worker->run();
    return std::nullopt;
}

// After the workers listen, so that an address that both settings name is found to be taken.
std::optional<Error> Node::start_admin() {
    if (!settings_.admin_listen) return std::nullopt;
    config::Address& wanted = *settings_.admin_listen;
    const auto failed = [&](const Error& error) {
        return about("admin_listen", "\"" + config::to_string(wanted) + "\"", error.message);
    };
    const auto address = http::claim({.host = wanted.host, .port = wanted.port});
    if (!address) return failed(address.error());
    const http::ApiContext context = api_context(
        metrics_.admin_thread(),
        wanted,
        config::is_loopback(wanted) ? http::Surface::kAdmin : http::Surface::kProtectedAdmin);
    admin_ = std::make_unique<Worker>(
        context,
        Worker::Options{.listener = {.limits = admin_limits(settings_), .tls = tls_},
                        .log = log_,
                        .log_requests = settings_.log.requests});
    const auto port = admin_->listen(*address);
    if (!port) return failed(port.error());
    wanted.port = *port;
    admin_->run();
    return std::nullopt;
}

http::ApiContext Node::api_context(metrics::ThreadMetrics& thread_metrics,
                                   const config::Address& address,
                                   http::Surface surface) {
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
        .surface = surface,
        .hosts = host_rule(settings_, address, surface)};
}

metrics::Readings Node::read() const {
    const Stats stats = limiter_.stats();
    metrics::Readings readings;
    readings.keys_held = stats.keys_held;
    readings.keys_created = stats.keys_created;
    readings.keys_expired = stats.keys_expired;
    readings.keys_evicted = stats.keys_evicted;
    readings.keys_evicted_unsynced = stats.keys_evicted_unsynced;
    readings.cas_retries = stats.cas_retries;
    readings.strict_activations = stats.strict_activations;
    readings.origin = {.unavailable = stats.origin.unavailable,
                       .nodes = stats.origin.nodes,
                       .oldest_unsynced = seconds_of(stats.origin.oldest_unsynced),
                       .clock_offset = seconds_of(stats.origin.clock_offset),
                       .spends = stats.origin.spends,
                       .spend_calls = stats.origin.spend_calls,
                       .flushed = stats.origin.flushed,
                       .unanswered = stats.origin.unanswered,
                       .fallbacks = stats.origin.fallbacks,
                       .queue_overflows = stats.origin.queue_overflows,
                       .outages = stats.origin.outages,
                       .resubmissions = stats.origin.resubmissions};
    readings.global = readings_of(stats.global);
    readings.overrides_held = overrides_->size();
    readings.log_lines_dropped = log_.dropped();
    readings.ready = readiness_.load(std::memory_order_relaxed) == http::Readiness::kReady;
    const auto add = [](std::uint64_t& sum, const http::WireCounter& counter) {
        sum += static_cast<std::uint64_t>(counter.get());
    };
    const auto add_all = [&](const http::WireCounters& counters) {
        add(readings.connections.open, counters.connections);
        add(readings.connections.accepted, counters.accepted);
        add(readings.connections.refused, counters.refused);
        add(readings.connections.accept_failures, counters.accept_failures);
        add(readings.connections.timeouts, counters.timeouts);
        add(readings.connections.shed, counters.shed);
        add(readings.connections.buffered_bytes, counters.buffered);
        add(readings.connections.handshake_failures, counters.handshake_failures);
    };
    for (const auto& worker : workers_)
        add_all(worker->counters());
    if (admin_ != nullptr) add_all(admin_->counters());
    return readings;
}

void Node::reload(const Result<config::Loaded>& loaded) {
    const auto failed = loaded ? apply(loaded->settings) : loaded.error();
    if (failed) {
        metrics_.count_reload(metrics::Success::kFailed);
        log_.error("reload_refused", {{"why", failed->message}});
        return;
    }
    metrics_.count_reload(metrics::Success::kOk);
    const std::string waiting = waiting_for_restart(loaded->settings);
    log_.info("reloaded", {{"tokens", settings_.tokens.size()}, {"tls", tls_ != nullptr}});
    if (!waiting.empty()) log_.warn("restart_needed", {{"changed", waiting}});
}

// All that can fail comes first.
std::optional<Error> Node::apply(const config::Settings& wanted) {
    if (wanted.tokens.empty() && !config::is_loopback(settings_.listen)) {
        return about("tokens",
                     "empty",
                     "the server listens on " + config::to_string(settings_.listen) +
                         ", which is not on loopback and needs at least one token");
    }
    // A file that was cut short while it was written must not open the server to everybody.
    if (wanted.tokens.empty() && !settings_.tokens.empty()) {
        return about("tokens", "empty", "removing the last token needs a restart");
    }
    // For the same reason.
    if (wanted.tls.client_ca.empty() && !settings_.tls.client_ca.empty()) {
        return about("tls.client_ca", "empty", "removing it needs a restart");
    }
    std::shared_ptr<const http::TlsContext> certificate;
    if (tls_ != nullptr && wanted.tls.enabled()) {
        auto context = http::TlsContext::load(tls_files(wanted.tls));
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

std::string Node::waiting_for_restart(const config::Settings& wanted) const {
    config::Settings resolved = with_threads(wanted);
    if (resolved.listen.port == 0) resolved.listen.port = settings_.listen.port;
    if (resolved.admin_listen && resolved.admin_listen->port == 0 && settings_.admin_listen)
        resolved.admin_listen->port = settings_.admin_listen->port;
    std::string keys;
    for (const config::Setting& setting : config::catalog()) {
        if (setting.show(resolved) == setting.show(settings_)) continue;
        keys += (keys.empty() ? "" : ",") + std::string(setting.key);
    }
    return keys;
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
    limiter_.close(std::max(left, kLeastToTell));
    const OriginStats origin = limiter_.stats().origin;
    if (origin.attached) log_.info("origin_closed", {{"flushed", origin.flushed - flushed}});
}

}  // namespace sluice::cli
