#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/check_config.h"
#include "cli/commands.h"
#include "cli/serve.h"
#include "cli/token_command.h"
#include "config/catalog.h"
#include "config/load.h"

namespace sluice::cli {
namespace {

constexpr const char* kServeFooter =
    "Each setting is also a key of the file and an environment variable: --log-level, "
    "SLUICE_LOG_LEVEL, and\n"
    "`level` in [log]. Flags win over the environment, the environment over the file. Tokens of "
    "one source\n"
    "replace those of a weaker one. SIGHUP re-reads tokens, log level and certificate; SIGTERM "
    "drains.\n"
    "\nExamples:\n"
    "  sluice serve --data-dir data\n"
    "  sluice serve --origin redis://127.0.0.1:6379/0\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice serve --region eu\n"
    "  sluice serve --config sluice.toml\n"
    "  SLUICE_SERVER_TOKENS=secret sluice serve --listen 0.0.0.0:8080 --behind-proxy\n"
    "  sluice serve --listen 0.0.0.0:8443 --token secret --tls-cert cert.pem --tls-key key.pem";

constexpr const char* kCheckFooter =
    "Prints what `sluice serve --config FILE` would run with here, and where each value comes "
    "from. Exits with 2\n"
    "if it would refuse to start, and says why.\n"
    "\nExample:\n"
    "  sluice check-config sluice.toml";

constexpr const char* kTokenFooter =
    "The token itself goes to standard error, the lines for the server's file to standard output; "
    "they hold its\n"
    "hash alone. The permissions are limit, read_override, set_override, delete_override and\n"
    "read_metrics.\n"
    "\nExamples:\n"
    "  sluice token --name web\n"
    "  sluice token --name admin --permission limit read_override set_override delete_override\n"
    "  sluice token --name mailer --workspace acme --namespace 'email.*' >> sluice.toml";

// What a setting does, what it may be, and what it is where nobody sets it.
std::string help_of(const config::Setting& setting) {
    std::string text(setting.help);
    if (!setting.value_name.empty()) text += "\nallowed: " + std::string(setting.allowed);
    static const config::Settings defaults;
    const std::string initial = setting.show(defaults);
    return text + "\ndefault: " + (initial == "\"\"" ? "none" : initial);
}

void add_setting(CLI::App& serve, const config::Setting& setting, std::string& value) {
    const std::string flag = config::flag_of(setting.key);
    CLI::Option* const option = setting.value_name.empty()
                                    ? serve.add_flag_callback(
                                          flag, [&value] { value = "true"; }, help_of(setting))
                                    : serve.add_option(flag, value, help_of(setting))
                                          ->type_name(std::string(setting.value_name));
    // An option without a group is not in the help.
    if (config::is_for_tests(setting)) option->group("");
}

void add_serve(Commands& commands) {
    CLI::App& serve = commands.add("serve", "Answer requests over HTTP", kServeFooter);
    const auto sources = std::make_shared<config::Sources>();
    serve.add_option("--config", sources->file, "A TOML file with settings")->type_name("FILE");
    serve
        .add_option("--token",
                    sources->tokens,
                    "A token that may do everything. Others see it in the list of processes, so\n"
                    "SLUICE_SERVER_TOKENS or the file are better places")
        ->type_name("TOKEN")
        ->expected(1)
        ->take_all();
    for (const config::Setting& setting : config::catalog())
        add_setting(serve, setting, sources->flags[std::string(setting.key)]);
    commands.set_run(serve, [sources, &serve](const Environment& environment) {
        std::erase_if(sources->flags, [&](const auto& flag) {
            return serve.count(config::flag_of(flag.first)) == 0;
        });
        sources->environment = environment.environment;
        return run_serve(*sources, environment.err);
    });
}

void add_check_config(Commands& commands) {
    CLI::App& check = commands.add("check-config", "Check a file of settings", kCheckFooter);
    const auto sources = std::make_shared<config::Sources>();
    check.add_option("FILE", sources->file, "A TOML file with settings")->required();
    commands.set_run(check, [sources](const Environment& environment) {
        sources->environment = environment.environment;
        return run_check_config(*sources, environment.out, environment.err);
    });
}

void add_token(Commands& commands) {
    CLI::App& token = commands.add("token", "Make a token for a client", kTokenFooter);
    const auto command = std::make_shared<TokenCommand>();
    token.add_option("--name", command->name, "Tells it from others")->capture_default_str();
    token.add_option("--workspace", command->workspace, "The world that it acts in")
        ->capture_default_str();
    token.add_option("--namespace", command->namespaces, "Patterns of namespaces that it may use")
        ->capture_default_str();
    token.add_option("--permission", command->permissions, "What it may do there")
        ->capture_default_str();
    commands.set_run(token, [command](const Environment& environment) {
        return run_token(*command, environment.out, environment.err);
    });
}

}  // namespace

void add_server_commands(Commands& commands) {
    add_serve(commands);
    add_check_config(commands);
    add_token(commands);
}

}  // namespace sluice::cli
