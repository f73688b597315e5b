#include "cli/serve.h"

#include <csignal>
#include <cstdlib>
#include <ostream>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <unistd.h>

#include "cli/check_config.h"
#include "cli/greeting.h"
#include "cli/node.h"
#include "cli/version.h"
#include "log/line_writer.h"
#include "log/log.h"
#include "service/global_store_url.h"
#include "service/open_origin.h"

namespace sluice::cli {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

void log_warnings(const config::Loaded& loaded, Log& log) {
    for (const std::string& warning : loaded.warnings)
        log.warn("settings_warning", {{"why", warning}});
}

// Listens to the system's signals, on the thread that runs it, until the node has drained.
class Control {
  public:
    Control(const config::Sources& sources, Log& log)
        : sources_(sources), log_(log), end_(loop_, SIGTERM, SIGINT), reload_(loop_, SIGHUP) {
        // A client that hangs up is no reason to end.
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
    log.info("started",
             {{"version", kVersion},
              {"address", config::to_string(settings.listen)},
              {"admin_address",
               settings.admin_listen ? config::to_string(*settings.admin_listen) : "none"},
              {"region", settings.region},
              {"threads", settings.threads},
              {"tls", settings.tls.enabled()},
              {"tokens", settings.tokens.size()},
              {"data_dir", settings.data_dir},
              {"origin", shown_origin(settings.origin)},
              {"global", shown_global(settings.global)}});
    const bool is_plain = !settings.tls.enabled() && !config::is_loopback(settings.listen);
    if (is_plain && settings.insecure_http) {
        log.warn(
            "insecure_http",
            {{"why", "tokens cross the network in plain HTTP; anyone on the way can read them"}});
    }
    if (settings.test_clock) {
        log.warn(
            "test_clock",
            {{"why", "clients choose the time of their decisions; never use this in production"}});
    }
}

// Nothing that is printed while the server runs may stop it, so not through a stream, which waits
// for a pipe that nobody reads.
void print_greeting(const config::Settings& settings) {
    LineWriter({.descriptor = STDOUT_FILENO}).append(greeting(settings));
}

}  // namespace

ExitCode run_serve(const config::Sources& sources, std::ostream& err) {
    const auto loaded = config::load_settings(sources);
    if (!loaded) {
        print_problems("serve", loaded.error(), err);
        return ExitCode::kError;
    }
    Log log(loaded->settings.log);
    log_warnings(*loaded, log);
    // Signals are heard from here on: one that comes during the start counts.
    Control control(sources, log);
    auto node = Node::start(loaded->settings, log);
    if (!node) {
        print_problems("serve", node.error(), err);
        return ExitCode::kError;
    }
    log_start((*node)->settings(), log);
    print_greeting((*node)->settings());
    control.run(**node);
    (*node)->close();
    node->reset();
    log.info("stopped");
    return ExitCode::kOk;
}

}  // namespace sluice::cli
