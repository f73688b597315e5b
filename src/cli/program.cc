#include "cli/program.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <hiredis/hiredis.h>
#include <mariadb/mysql.h>
#include <openssl/crypto.h>
#include <simdjson.h>
#include <sqlite3.h>
#include <toml++/impl/version.h>
#include <xxhash.h>

#include "cli/commands.h"
#include "config/value.h"
#include "server/version.h"

namespace sluice::cli {
namespace {

constexpr const char* kAbout =
    "Sluice is a rate limiter with sliding windows that decides from local memory.";
constexpr const char* kFooter = R"(Examples:
  sluice serve                                  a server on http://127.0.0.1:8080
  sluice limit login alice --limit 10 --duration 60s
  sluice inspect login alice --duration 60s     why was it denied?
  sluice top                                    who is denied most?
  sluice override set login alice --limit 100 --duration 60s
  sluice rules match web user=alice --rules rules.yaml
  sluice doctor --config sluice.toml            what would go wrong?
  sluice bench --seconds 5
  sluice simulate                               what would a failure do?

`sluice COMMAND --help` describes each command.)";

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

std::string dotted(long major, long minor, long patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string libraries() {
    // The version at run time where the library offers it, else that of its headers.
    return "Boost " +
           dotted(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100) +
           "\nCLI11 " + CLI11_VERSION + "\nhiredis " +
           dotted(HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH) + "\nMariaDB Connector/C " +
           mysql_get_client_info() + "\nOpenSSL " + OpenSSL_version(OPENSSL_VERSION_STRING) +
           "\nsimdjson " +
           dotted(simdjson::SIMDJSON_VERSION_MAJOR,
                  simdjson::SIMDJSON_VERSION_MINOR,
                  simdjson::SIMDJSON_VERSION_REVISION) +
           "\nSQLite " + sqlite3_libversion() + "\ntoml++ " +
           dotted(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH) + "\nxxHash " +
           dotted(XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE);
}

// The version, the commit, the compiler and the libraries.
std::string version_text() {
    return std::string("sluice ") + server::kVersion + "\ncommit " + server::kCommit +
           "\ncompiler " + kCompiler + "\n" + libraries();
}

// The command as it is typed: "sluice override set".
std::string with_prefix(const CLI::App& command) {
    return command.get_parent() == nullptr ? "sluice" : "sluice " + full_name(command);
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

// The name that was probably meant, as an addition to a message; may be empty.
std::string hint(std::string_view word, const std::vector<std::string>& known) {
    std::string meant = config::nearest(word, known);
    // Else a name that begins with the word, if there is exactly one.
    const auto begins = [&](const std::string& name) { return name.starts_with(word); };
    if (meant.empty() && std::count_if(known.begin(), known.end(), begins) == 1)
        meant = *std::find_if(known.begin(), known.end(), begins);
    return meant.empty() ? "" : "; did you mean " + meant + "?";
}

// The message about a word in the place of a command that is not one.
std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& arguments) {
    const CLI::App* level = &app;
    for (const std::string& word : arguments) {
        const std::vector<std::string> known = names_of_commands(*level);
        if (known.empty() || word.starts_with('-')) return std::nullopt;
        if (std::find(known.begin(), known.end(), word) == known.end())
            return with_prefix(*level) + ": there is no command " + config::quoted(word) +
                   hint(word, known) + "\n`" + with_prefix(*level) +
                   " --help` lists the commands.\n";
        level = level->get_subcommand(word);
    }
    return std::nullopt;
}

// The message about options that the parser doesn't know.
std::optional<std::string> unknown_options(const CLI::App& app) {
    const CLI::App& command = parsed_command(app);
    std::string text;
    for (const std::string& extra : app.remaining(true)) {
        if (!extra.starts_with('-')) continue;
        const std::string name = extra.substr(0, extra.find('='));
        text += with_prefix(command) + ": there is no option " + name +
                hint(name, names_of_options(command)) + "\n";
    }
    if (text.empty()) return std::nullopt;
    return text + "`" + with_prefix(command) + " --help` lists the options.\n";
}

ExitCode refuse(const std::string& why, const Environment& environment) {
    environment.err << why;
    return ExitCode::kError;
}

}  // namespace

ExitCode run_program(std::vector<std::string> arguments,
                     const Environment& environment,
                     const std::vector<AddCommands>& more) {
    CLI::App app(kAbout, "sluice");
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(kFooter);
    app.get_formatter()->column_width(34);
    Commands commands(app);
    add_server_commands(commands);
    add_config_commands(commands);
    add_database_commands(commands);
    add_limit_command(commands);
    add_inspect_command(commands);
    add_override_command(commands);
    add_bench_command(commands);
    add_accuracy_command(commands);
    add_rules_command(commands);
    add_doctor_command(commands);
    add_health_command(commands);
    add_shell_commands(commands);
    add_observe_commands(commands);
    for (const AddCommands add : more)
        add(commands);
    if (arguments.empty()) return refuse(app.help(), environment);
    if (const auto unknown = unknown_command(app, arguments)) return refuse(*unknown, environment);
    try {
        // CLI11 takes arguments from the back.
        std::reverse(arguments.begin(), arguments.end());
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& stop) {
        const bool is_error = stop.get_exit_code() != 0;
        const auto unknown = is_error ? unknown_options(app) : std::nullopt;
        if (unknown) return refuse(*unknown, environment);
        return app.exit(stop, environment.out, environment.err) == 0 ? ExitCode::kOk
                                                                     : ExitCode::kError;
    }
    return commands.run(environment);
}

}  // namespace sluice::cli
