#include "server/serve.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unistd.h>

#include "base/thread.h"
#include "log/line_writer.h"
#include "log/log.h"
#include "server/certificate_watch.h"
#include "server/exit_deadline.h"
#include "server/node.h"
#include "server/passed_sockets.h"
#include "server/supervisor.h"
#include "server/version.h"
#include "url/store_url.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// The most that the end of the process takes beyond the drain timeout.
constexpr std::chrono::seconds kLongestClose{1};

void log_warnings(const config::Loaded& loaded, Log& log) {
    for (const std::string& warning : loaded.warnings)
        log.warn("settings_warning", {{"why", warning}});
}

// The node's state for people, in one line.
std::string status_of(const config::Settings& settings) {
    return "Serving on " + config::to_string(settings.listen) + ", region " + settings.region +
           ", " + std::to_string(settings.threads) + " threads";
}

// Handles SIGHUP, SIGTERM, SIGINT and renewed certificates on the thread that runs it, until the
// node has drained, and reports to the supervisor.
class SignalLoop {
  public:
    // `tls` is what the node will load its certificate from.
    SignalLoop(const config::Sources& sources,
               const config::TlsSettings& tls,
               const Supervisor& supervisor,
               ExitDeadline& exit_deadline,
               Log& log)
        : sources_(sources),
          supervisor_(supervisor),
          exit_deadline_(exit_deadline),
          log_(log),
          certificate_(CertificateFiles(tls)),
          end_(loop_, SIGTERM, SIGINT),
          reload_(loop_, SIGHUP),
          life_(loop_),
          renewal_(loop_) {
        // Writes to a closed connection fail instead of ending the process.
        std::signal(SIGPIPE, SIG_IGN);
        // As do writes beyond the limit on the size of files.
        std::signal(SIGXFSZ, SIG_IGN);
    }

    void run(Node& node) {
        await_reload(node);
        await_end(node);
        supervisor_.ready(status_of(node.settings()));
        if (supervisor_.watchdog()) show_life(node);
        if (node.settings().tls.enabled()) await_renewal(node);
        // A handler that throws, most likely std::bad_alloc, has set its next turn before.
        const ThreadOptions thread{.name = "sluice", .on_failure = node.on_thread_failure()};
        while (!run_guarded(thread, [this] { loop_.run(); })) {
        }
    }

  private:
    void await_reload(Node& node) {
        reload_.async_wait([this, &node](error_code cancelled, int) {
            if (cancelled) return;
            await_reload(node);
            supervisor_.reloading("Reloading settings");
            const auto loaded = config::load_settings(sources_);
            if (loaded) log_warnings(*loaded, log_);
            const config::TlsSettings tls = loaded ? loaded->settings.tls : config::TlsSettings{};
            const CertificateFiles certificate(tls);
            const bool is_applied = node.reload(loaded);
            if (is_applied && tls.enabled()) certificate_ = CertificateWatch(certificate);
            supervisor_.ready(status_of(node.settings()) +
                              (is_applied ? "" : "; the last reload was refused, see the log"));
        });
    }

    // Loads the certificate again when its files have changed since they were read, and while that
    // fails: such as for files that don't fit, because not all of them are written yet.
    void await_renewal(Node& node) {
        renewal_.expires_after(kCertificateInterval);
        renewal_.async_wait([this, &node](error_code cancelled) {
            if (cancelled) return;
            await_renewal(node);
            const auto due = certificate_.check(node.settings().tls);
            if (due) certificate_.record(node.reload_certificate(*due));
        });
    }

    // Sends a keep-alive four times in the supervisor's interval, as long as all serving threads
    // run their event loops. One that is stuck ends the signs, and the supervisor the process.
    void show_life(Node& node) {
        life_.expires_after(*supervisor_.watchdog() / 4);
        life_.async_wait([this, &node](error_code cancelled) {
            if (!cancelled) show_life(node);
        });
        const bool is_alive = node.threads_respond();
        if (is_alive) supervisor_.sign_of_life();
        if (std::exchange(was_alive_, is_alive) && !is_alive)
            log_.error("thread_stuck", {{"why", "a serving thread does not run its event loop"}});
    }

    void await_end(Node& node) {
        end_.async_wait([this, &node](error_code, int signal) {
            exit_deadline_.set(std::chrono::steady_clock::now() + node.settings().drain_timeout +
                               ExitDeadline::kGrace);
            log_.info(
                "draining",
                {{"signal", signal}, {"milliseconds", node.settings().drain_timeout.count()}});
            supervisor_.stopping("Draining", node.settings().drain_timeout + kLongestClose);
            await_second_end();
            node.drain([this] { asio::post(loop_, [this] { loop_.stop(); }); });
        });
    }

    void await_second_end() {
        end_.async_wait([this](error_code, int signal) {
            log_.warn("stopped", {{"signal", signal}, {"why", "a second signal"}});
            log_.flush();
            std::_Exit(128 + signal);
        });
    }

    const config::Sources& sources_;
    const Supervisor& supervisor_;
    ExitDeadline& exit_deadline_;
    Log& log_;
    CertificateWatch certificate_;
    asio::io_context loop_{1};
    asio::signal_set end_;
    asio::signal_set reload_;
    asio::steady_timer life_;
    asio::steady_timer renewal_;
    bool was_alive_ = true;
};

void log_start(const config::Settings& settings, Log& log) {
    log.info(
        "started",
        {{"version", kVersion},
         {"address", config::to_string(settings.listen)},
         {"admin_address",
          settings.admin_listen ? config::to_string(*settings.admin_listen) : "none"},
         {"grpc_address", settings.grpc.listen ? config::to_string(*settings.grpc.listen) : "none"},
         {"region", settings.region},
         {"threads", settings.threads},
         {"tls", settings.tls.enabled()},
         {"tokens", settings.tokens.size()},
         {"data_dir", settings.data_dir},
         {"origin", shown_origin(settings.origin)},
         {"global", shown_global(settings.global)},
         {"bus", shown_bus(settings.bus)}});
    const bool is_plain = !settings.tls.enabled() && !config::is_loopback(settings.listen);
    if (is_plain && settings.insecure_http) {
        log.warn(
            "insecure_http",
            {{"why", "tokens are sent over plain HTTP; anyone on the network path can read them"}});
    }
    if (settings.grpc.listen && settings.grpc.insecure &&
        !config::is_loopback(*settings.grpc.listen)) {
        log.warn("insecure_grpc",
                 {{"why", "anyone who can reach the gRPC address can spend limits"}});
    }
    if (settings.test_clock) {
        log.warn("test_clock",
                 {{"why", "clients choose the time of their decisions; not for production"}});
    }
}

// Not through a stream, which would block on a pipe that is never read.
void print_greeting(const config::Settings& settings) {
    LineWriter({.descriptor = STDOUT_FILENO}).append(greeting(settings));
}

std::string url_of(config::Address address, const config::TlsSettings& tls) {
    if (config::is_any(address)) address.host = address.host == "::" ? "::1" : "127.0.0.1";
    return (tls.enabled() ? "https://" : "http://") + config::to_string(address);
}

// The first process of a container inherits processes whose parents ended, such as those of a
// health check. With SIGCHLD ignored, the kernel removes them when they end; else they stay as
// zombies.
void remove_orphans() {
    if (::getpid() == 1) std::signal(SIGCHLD, SIG_IGN);
}

}  // namespace

std::optional<Error> serve(const config::Sources& sources) {
    const Supervisor supervisor = Supervisor::from_environment();
    auto sockets = PassedSockets::from_environment();
    if (!sockets) return std::move(sockets).error();
    config::Sources all_sources = sources;
    all_sources.sockets = sockets->addresses();
    const auto loaded = config::load_settings(all_sources);
    if (!loaded) return loaded.error();
    Log log({.level = loaded->settings.log.level, .format = loaded->settings.log.format});
    log_warnings(*loaded, log);
    remove_orphans();
    ExitDeadline exit_deadline(log);
    // Constructed first: a signal that arrives during the start takes effect after it.
    SignalLoop signals(all_sources, loaded->settings.tls, supervisor, exit_deadline, log);
    auto node = Node::start(loaded->settings, log, *std::move(sockets));
    if (!node) return std::move(node).error();
    log_start((*node)->settings(), log);
    print_greeting((*node)->settings());
    signals.run(**node);
    (*node)->close();
    // All counts are written that can be: what is left takes no time, or hangs.
    exit_deadline.set(std::chrono::steady_clock::now() + ExitDeadline::kGrace);
    node->reset();
    log.info("stopped");
    return std::nullopt;
}

std::string url_of(const config::Settings& settings) {
    return url_of(settings.listen, settings.tls);
}

std::string greeting(const config::Settings& settings) {
    const std::string url = url_of(settings);
    const bool needs_token = !settings.tokens.empty();
    std::string text = std::string("Sluice ") + kVersion + " listens on " + url + " (region " +
                       settings.region + ").\n";
    if (settings.admin_listen)
        text += "Its page is at " + url_of(*settings.admin_listen, settings.tls) +
                "/, its metrics at /metrics there.\n";
    if (settings.grpc.listen)
        text += "gRPC is at " + config::to_string(*settings.grpc.listen) + ".\n";
    text += needs_token ? "Set SLUICE_TOKEN to one of its tokens and try:\n\n" : "Try:\n\n";
    text += "    curl ";
    // curl takes the brackets of an IPv6 address for a pattern.
    if (url.find('[') != std::string::npos) text += "--globoff ";
    // The certificate may be for another name than this address.
    if (settings.tls.enabled()) text += "--insecure ";
    if (!settings.tls.client_ca.empty()) text += "--cert CLIENT.crt --key CLIENT.key ";
    if (needs_token) text += "-H \"Authorization: Bearer $SLUICE_TOKEN\" ";
    text +=
        "-H 'Content-Type: application/json' -d "
        "'{\"namespace\":\"login\",\"identifier\":\"alice\",\"limit\":10,\"duration\":60000}' '" +
        url + "/v2/ratelimit.limit'\n\n";
    return text;
}

}  // namespace sluice::server
