#include "cli/program.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "cli/version_text.h"
#include "config/problem.h"
#include "config/value.h"

namespace sluice::cli {
namespace {

constexpr const char* kAbout =
    "Sluice limits how often something may happen, in sliding windows, from local memory.";
constexpr const char* kFooter =
    "Examples:\n"
    "  sluice serve                                  a server on http://127.0.0.1:8080\n"
    "  sluice limit login alice --limit 10 --duration 60s\n"
    "  sluice inspect login alice --duration 60s     why was it denied?\n"
    "  sluice override set login alice --limit 100 --duration 60s\n"
    "  sluice bench --seconds 5\n"
    "  sluice simulate                               what would a failure do?\n"
    "\n`sluice COMMAND --help` tells more about each.";

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

std::string hint(std::string_view word, const std::vector<std::string>& known) {
    std::string meant = config::nearest(word, known);
    // The beginning of one name only.
    const auto begins = [&](const std::string& name) { return name.starts_with(word); };
    if (meant.empty() && std::count_if(known.begin(), known.end(), begins) == 1)
        meant = *std::find_if(known.begin(), known.end(), begins);
    return meant.empty() ? "" : "; did you mean " + meant + "?";
}

// Explains a word that stands where a command should, and is none.
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

// Explains the options that the parser left over because it doesn't know them.
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

ExitCode run_program(std::vector<std::string> arguments, const Environment& environment) {
    CLI::App app(kAbout, "sluice");
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.footer(kFooter);
    app.get_formatter()->column_width(34);
    Commands commands(app);
    add_server_commands(commands);
    add_database_commands(commands);
    add_client_commands(commands);
    add_simulate_command(commands);
    if (arguments.empty()) return refuse(app.help(), environment);
    if (const auto unknown = unknown_command(app, arguments)) return refuse(*unknown, environment);
    try {
        // The parser takes them from the back.
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
