// `sluice health`: asks a server whether it is ready.
#include <memory>
#include <ostream>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/client.h"
#include "cli/commands.h"

namespace sluice::cli {
namespace {

constexpr const char* kFooter =
    R"(For health checks of containers. Needs no token. Exits with 0 if the server answers that it is ready, with 1 if
it does not, or does not answer in time, and with 2 on wrong usage. A server with TLS needs an https URL, and
SLUICE_CA_CERT or SLUICE_INSECURE=true; one that asks for certificates also SLUICE_CLIENT_CERT and
SLUICE_CLIENT_KEY.

Examples:
  sluice health
  sluice health --live --url http://127.0.0.1:8080 --timeout 1s)";

ExitCode check_health(const ClientCall& call,
                      const std::string& path,
                      const CLI::App& command,
                      const Environment& environment) {
    const auto response = get_page(call, path);
    const bool is_healthy = response && response->status == 200;
    if (is_healthy) {
        environment.out << (call.output == Output::kJson ? response->body : "ok") << "\n";
        return ExitCode::kOk;
    }
    const std::string why = response ? call.target.url.authority() + path + " answered " +
                                           std::to_string(response->status)
                                     : response.error().message;
    fail(command, {kInvalidOption, why}, environment);
    return ExitCode::kDenied;
}

}  // namespace

void add_health_command(Commands& commands) {
    struct Arguments {
        ClientOptions options;
        bool live = false;
    };
    CLI::App& health = commands.add("health", "Check whether a server is ready", kFooter);
    const auto arguments = std::make_shared<Arguments>();
    arguments->options.timeout = "3s";
    health.add_flag(
        "--live", arguments->live, "Check only that it runs, also while it starts or drains");
    add_timeout_option(health, arguments->options);
    add_target_options(health, arguments->options);
    commands.set_run(health, [arguments, &health](const Environment& environment) {
        const auto call = resolve_call(health, arguments->options, environment);
        if (!call) return fail(health, call.error(), environment);
        return check_health(*call, arguments->live ? "/healthz" : "/readyz", health, environment);
    });
}

}  // namespace sluice::cli
