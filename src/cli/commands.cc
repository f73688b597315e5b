#include "cli/commands.h"

#include <ostream>
#include <sstream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/check.h"
#include "config/duration.h"
#include "config/load.h"

namespace sluice::cli {

CLI::App& Commands::add(const char* name, const char* about, const std::string& footer) {
    CLI::App* const command = app_.add_subcommand(name, about);
    command->footer(footer);
    return *command;
}

ExitCode Commands::run(const Environment& environment) const {
    const auto found = runs_.find(&parsed_command(app_));
    SLUICE_CHECK(found != runs_.end());
    return found->second(environment);
}

const CLI::App& parsed_command(const CLI::App& app) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty())
        command = command->get_subcommands().front();
    return *command;
}

std::string full_name(const CLI::App& command) {
    const CLI::App* const parent = command.get_parent();
    if (parent == nullptr || parent->get_parent() == nullptr) return command.get_name();
    return full_name(*parent) + " " + command.get_name();
}

std::string variable(const Environment& environment, const char* name) {
    const auto found = environment.environment.find(name);
    return found == environment.environment.end() ? std::string() : found->second;
}

Result<std::chrono::milliseconds> duration_of(const char* flag,
                                              const std::string& text,
                                              std::chrono::milliseconds least) {
    const auto duration = config::parse_duration(text);
    if (duration && *duration >= least) return *duration;
    const bool is_bounded = least.count() > 0;
    return Error{kInvalidOption,
                 std::string(flag) + " is \"" + text + "\"; allowed is a time " +
                     (is_bounded ? "of at least " + config::to_string(least) + ", such as 60s"
                                 : "such as 500ms, 60s") +
                     ", 5m, 1h or 30d"};
}

void warn_of_variables(const CLI::App& command, const Environment& environment) {
    for (const std::string& warning : config::unknown_variables(environment.environment))
        environment.err << "sluice " << full_name(command) << ": warning: " << warning << "\n";
}

ExitCode fail(const CLI::App& command, const Error& error, const Environment& environment) {
    std::istringstream lines(error.message);
    for (std::string line; std::getline(lines, line);)
        environment.err << "sluice " << full_name(command) << ": " << line << "\n";
    return ExitCode::kError;
}

}  // namespace sluice::cli
