// The registry of commands, and what their options share.
#ifndef SLUICE_CLI_COMMANDS_H_
#define SLUICE_CLI_COMMANDS_H_

#include <sluice/result.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "cli/program.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// The commands that a parser knows, each with the function that runs it. Thread-compatible; must
// not outlive the parser.
class Commands {
  public:
    using Run = std::function<ExitCode(const Environment&)>;

    explicit Commands(CLI::App& app) : app_(app) {}

    // `footer` stands below the options in the command's help.
    CLI::App& add(const char* name, const char* about, const std::string& footer);
    void set_run(const CLI::App& command, Run run) { runs_[&command] = std::move(run); }

    // The program itself, with all commands below it once they are added.
    const CLI::App& root() const { return app_; }

    // Runs the command that the parsed arguments name.
    ExitCode run(const Environment& environment) const;

  private:
    CLI::App& app_;
    std::map<const CLI::App*, Run> runs_;
};

void add_server_commands(Commands& commands);    // serve, token
void add_config_commands(Commands& commands);    // check-config, config
void add_database_commands(Commands& commands);  // migrate, cleanup
void add_limit_command(Commands& commands);
void add_inspect_command(Commands& commands);
void add_override_command(Commands& commands);
void add_bench_command(Commands& commands);
void add_accuracy_command(Commands& commands);
void add_rules_command(Commands& commands);
void add_doctor_command(Commands& commands);
void add_health_command(Commands& commands);
void add_shell_commands(Commands& commands);    // completion, manual
void add_observe_commands(Commands& commands);  // top, status, fleet

// The innermost command that the parsed arguments name.
const CLI::App& parsed_command(const CLI::App& app);

// Its name as it is typed after `sluice`: "override set".
std::string full_name(const CLI::App& command);

// An environment variable; empty if it is not set.
std::string variable(const Environment& environment, const char* name);

// Parses the value of the option `flag`: a time of at least `least`.
Result<std::chrono::milliseconds> duration_of(
    const char* flag,
    const std::string& text,
    std::chrono::milliseconds least = std::chrono::milliseconds::zero());

// Warns of variables that begin with SLUICE_ and have no meaning.
void warn_of_variables(const CLI::App& command, const Environment& environment);

// Prints each line of the error's message behind the command's name. Returns kError.
ExitCode fail(const CLI::App& command, const Error& error, const Environment& environment);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_COMMANDS_H_
