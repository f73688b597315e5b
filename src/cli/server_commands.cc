// `sluice serve`, `check-config` and `token`: the commands around a server's settings.
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/json_text.h"
#include "cli/commands.h"
#include "config/catalog.h"
#include "config/file.h"
#include "config/load.h"
#include "config/token.h"
#include "rls/rule_file.h"
#include "server/resources.h"
#include "server/serve.h"

namespace sluice::cli {
namespace {

constexpr const char* kServeFooter =
    "Each setting is also a key of the file and an environment variable: --log-level, "
    "SLUICE_LOG_LEVEL, and\n"
    "`level` in [log]. Flags override the environment, which overrides the file; a list of tokens "
    "is "
    "replaced as a\n"
    "whole. SIGHUP reloads tokens, log level and certificate; SIGTERM drains and exits.\n"
    "\nExamples:\n"
    "  sluice serve --data-dir data\n"
    "  sluice serve --origin redis://127.0.0.1:6379/0\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice serve --region eu\n"
    "  sluice serve --config sluice.toml\n"
    "  SLUICE_SERVER_TOKENS=secret sluice serve --listen 0.0.0.0:8080 --behind-proxy\n"
    "  sluice serve --listen 0.0.0.0:8443 --token secret --tls-cert cert.pem --tls-key key.pem";

constexpr const char* kCheckFooter =
    "Prints the settings that `sluice serve --config FILE` would use, and the source of each. "
    "Exits "
    "with 2 and the\n"
    "reasons if it would refuse to start.\n"
    "\nExample:\n"
    "  sluice check-config sluice.toml";

constexpr const char* kTokenFooter =
    "Prints the token to standard error, and the lines for the server's file, which hold only its "
    "hash, to standard\n"
    "output. The permissions are limit, read_override, set_override, delete_override, "
    "read_metrics and read_keys.\n"
    "\nExamples:\n"
    "  sluice token --name web\n"
    "  sluice token --name admin --permission limit read_override set_override delete_override\n"
    "  sluice token --name mailer --workspace acme --namespace 'email.*' >> sluice.toml";

// The purpose of a setting, the allowed values and the default.
std::string help_of(const config::Setting& setting) {
    std::string text(setting.help);
    if (!setting.value_name.empty()) text += "\nallowed: " + std::string(setting.allowed);
    static const config::Settings defaults;
    const std::string initial = setting.show(defaults);
    return text + "\ndefault: " + (initial == "\"\"" ? "none" : initial);
}

void add_setting(CLI::App& serve, const config::Setting& setting, std::string& value) {
    // The short form of the one setting that turns a protocol on.
    const std::string flag =
        config::flag_of(setting.key) + (setting.key == "grpc.listen" ? ",--grpc" : "");
    CLI::Option* const option = setting.value_name.empty()
                                    ? serve.add_flag_callback(
                                          flag, [&value] { value = "true"; }, help_of(setting))
                                    : serve.add_option(flag, value, help_of(setting))
                                          ->type_name(std::string(setting.value_name));
    // An option without a group is not in the help.
    if (config::is_for_tests(setting)) option->group("");
}

void add_serve(Commands& commands) {
    CLI::App& serve = commands.add("serve", "Run a server", kServeFooter);
    const auto sources = std::make_shared<config::Sources>();
    serve.add_option("--config", sources->file, "A TOML file with settings")->type_name("FILE");
    serve
        .add_option("--token",
                    sources->tokens,
                    "A token with all permissions. Other users see it in the list of processes;\n"
                    "prefer SLUICE_SERVER_TOKENS or the file")
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
        if (const auto error = server::serve(*sources)) return fail(serve, *error, environment);
        return ExitCode::kOk;
    });
}

// Checks the rules that the settings name, unless a management server has them.
std::optional<Error> check_rules(const config::Settings& settings, const Environment& environment) {
    if (settings.rules.empty() || settings.rules.starts_with("xds://")) return std::nullopt;
    const auto rules = rls::load_rules(
        settings.rules,
        settings.rls.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse);
    if (!rules) return rules.error();
    for (const std::string& warning : (*rules)->warnings())
        environment.err << "sluice check-config: warning: " << warning << "\n";
    return std::nullopt;
}

// Prints the settings in effect, each with its source.
ExitCode check_config(const config::Sources& sources,
                      const CLI::App& command,
                      const Environment& environment) {
    const auto loaded = config::load_settings(sources);
    if (!loaded) return fail(command, loaded.error(), environment);
    const config::TlsSettings& tls = loaded->settings.tls;
    if (tls.enabled()) {
        const auto context = server::load_tls(tls);
        if (!context) return fail(command, context.error(), environment);
    }
    for (const std::string& warning : loaded->warnings)
        environment.err << "sluice check-config: warning: " << warning << "\n";
    if (const auto error = check_rules(loaded->settings, environment))
        return fail(command, *error, environment);
    environment.out << config::describe(*loaded);
    return ExitCode::kOk;
}

void add_check_config(Commands& commands) {
    CLI::App& check = commands.add("check-config", "Check a settings file", kCheckFooter);
    const auto sources = std::make_shared<config::Sources>();
    check.add_option("FILE", sources->file, "A TOML file with settings")->required();
    commands.set_run(check, [sources, &check](const Environment& environment) {
        sources->environment = environment.environment;
        return check_config(*sources, check, environment);
    });
}

struct TokenArguments {
    std::string name = "my-token";
    std::string workspace = "default";
    std::vector<std::string> namespaces{"*"};
    std::vector<std::string> permissions{"limit"};
};

// A JSON string with \u escapes is a TOML string as well.
void append_toml_list(std::string& out, const std::vector<std::string>& texts) {
    const char* separator = "[";
    for (const std::string& text : texts) {
        out += separator;
        append_json_string(out, text);
        separator = ", ";
    }
    out += texts.empty() ? "[]" : "]";
}

// The [[tokens]] table that grants these permissions to the bearer of `secret`.
std::string token_table(const TokenArguments& arguments, const std::string& secret) {
    std::string lines = "[[tokens]]\nname = ";
    append_json_string(lines, arguments.name);
    lines += "\nsha256 = \"" + to_hex(sha256_of(secret)) + "\"\nworkspace = ";
    append_json_string(lines, arguments.workspace);
    lines += "\nnamespaces = ";
    append_toml_list(lines, arguments.namespaces);
    lines += "\npermissions = ";
    append_toml_list(lines, arguments.permissions);
    return lines + "\n";
}

// Prints a new secret, which is not stored, to standard error and its table to standard output,
// which may be the server's file.
ExitCode make_token(const TokenArguments& arguments,
                    const CLI::App& command,
                    const Environment& environment) {
    const std::string secret = config::make_secret();
    const std::string lines = token_table(arguments, secret);
    // Checked by the server's own parser, so that the lines are valid in its file.
    config::SettingProblems problems;
    config::parse_file(lines, "token", problems);
    for (const std::string& problem : problems)
        fail(command, {kInvalidOption, problem}, environment);
    if (!problems.empty()) return ExitCode::kError;

    environment.err << "The token, which is shown only once; give it to the client:\n\n    "
                    << secret
                    << "\n\nThe server stores only its hash: append the lines on standard output "
                       "to its settings file, then send it SIGHUP.\n\n"
                    << std::flush;
    environment.out << lines << std::flush;
    if (environment.out) return ExitCode::kOk;
    return fail(
        command,
        {kInvalidOption, "the lines could not be written to standard output; discard the token"},
        environment);
}

void add_token(Commands& commands) {
    CLI::App& token = commands.add("token", "Create a token for a client", kTokenFooter);
    const auto arguments = std::make_shared<TokenArguments>();
    token.add_option("--name", arguments->name, "Unique name of the token")->capture_default_str();
    token.add_option("--workspace", arguments->workspace, "Workspace that it belongs to")
        ->capture_default_str();
    token
        .add_option("--namespace", arguments->namespaces, "Patterns of namespaces that it may use")
        ->capture_default_str();
    token.add_option("--permission", arguments->permissions, "Permissions in these namespaces")
        ->capture_default_str();
    commands.set_run(token, [arguments, &token](const Environment& environment) {
        return make_token(*arguments, token, environment);
    });
}

}  // namespace

void add_server_commands(Commands& commands) {
    add_serve(commands);
    add_check_config(commands);
    add_token(commands);
}

}  // namespace sluice::cli
