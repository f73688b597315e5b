// `sluice serve`, and `token`, which makes tokens for it.
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/settings_flags.h"
#include "config/file.h"
#include "config/token.h"
#include "server/serve.h"

namespace sluice::cli {
namespace {

constexpr const char* kServeFooter =
    R"(Each setting is also a key of the file and an environment variable: --log-level, SLUICE_LOG_LEVEL, and
`level` in [log]. Flags override the environment, which overrides the file; a list of tokens is replaced as a
whole. SIGHUP reloads tokens, log level and certificate; SIGTERM drains and exits.

Examples:
  sluice serve --data-dir data
  sluice serve --origin redis://127.0.0.1:6379/0
  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice serve --region eu
  sluice serve --config sluice.toml
  SLUICE_SERVER_TOKENS=secret sluice serve --listen 0.0.0.0:8080 --behind-proxy
  sluice serve --listen 0.0.0.0:8443 --token secret --tls-cert cert.pem --tls-key key.pem)";

constexpr const char* kTokenFooter =
    R"(Prints the token to standard error, and the lines for the server's file, which hold only its hash, to standard
output. The permissions are limit, read_override, set_override, delete_override, read_metrics and read_keys.

Examples:
  sluice token --name web
  sluice token --name admin --permission limit read_override set_override delete_override
  sluice token --name mailer --workspace acme --namespace 'email.*' >> sluice.toml)";

void add_serve(Commands& commands) {
    CLI::App& serve = commands.add("serve", "Run a server", kServeFooter);
    const auto sources = add_settings_flags(serve, FlagHelp::kShown);
    commands.set_run(serve, [sources, &serve](const Environment& environment) {
        if (const auto error = server::serve(given_sources(serve, *sources, environment)))
            return fail(serve, *error, environment);
        return ExitCode::kOk;
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
    add_token(commands);
}

}  // namespace sluice::cli
