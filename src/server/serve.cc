#include "server/serve.h"

#include <csignal>
#include <cstdlib>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <unistd.h>

#include "log/line_writer.h"
#include "log/log.h"
#include "server/node.h"
#include "server/version.h"
#include "url/store_url.h"

namespace sluice::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

void log_warnings(const config::Loaded& loaded, Log& log) {
    for (const std::string& warning : loaded.warnings)
        log.warn("settings_warning", {{"why", warning}});
}

// Handles SIGHUP, SIGTERM and SIGINT on the thread that runs it, until the node has drained.
class SignalLoop {
  public:
    SignalLoop(const config::Sources& sources, Log& log)
        : sources_(sources), log_(log), end_(loop_, SIGTERM, SIGINT), reload_(loop_, SIGHUP) {
        // Writes to a closed connection fail instead of ending the process.
        std::signal(SIGPIPE, SIG_IGN);
    }

    void run(Node& node) {
        await_reload(node);
        await_end(node);
        loop_.run();
    }

  private:
    void await_reload(Node& node) {
        reload_.async_wait([this, &node](error_code cancelled, int) {
            if (cancelled) return;
            const auto loaded = config::load_settings(sources_);
            if (loaded) log_warnings(*loaded, log_);
            node.reload(loaded);
            await_reload(node);
        });
    }

    void await_end(Node& node) {
        end_.async_wait([this, &node](error_code, int signal) {
            log_.info(
                "draining",
                {{"signal", signal}, {"milliseconds", node.settings().drain_timeout.count()}});
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
    Log& log_;
    asio::io_context loop_{1};
    asio::signal_set end_;
    asio::signal_set reload_;
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

}  // namespace

std::optional<Error> serve(const config::Sources& sources) {
    const auto loaded = config::load_settings(sources);
    if (!loaded) return loaded.error();
    Log log({.level = loaded->settings.log.level, .format = loaded->settings.log.format});
    log_warnings(*loaded, log);
    // Constructed first: a signal that arrives during the start takes effect after it.
    SignalLoop signals(sources, log);
    auto node = Node::start(loaded->settings, log);
    if (!node) return std::move(node).error();
    log_start((*node)->settings(), log);
    print_greeting((*node)->settings());
    signals.run(**node);
    (*node)->close();
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
