#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/cleanup_command.h"
#include "cli/commands.h"
#include "cli/migrate_command.h"
#include "service/global_store_url.h"

namespace sluice::cli {
namespace {

constexpr const char* kMigrateFooter =
    "Makes the tables in an empty database, or brings those of an older version up to date; may be "
    "run again and by\n"
    "several at once. Exits with 2 if that fails. SLUICE_GLOBAL is a better place for a password "
    "than --global.\n"
    "\nExamples:\n"
    "  sluice migrate --global mysql://sluice@db/limits --dry-run\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice migrate";

constexpr const char* kCleanupFooter =
    "Deletes the counts of windows that no decision can need any more, a minute after they have "
    "expired. Made to be\n"
    "run now and then, by cron say; servers with --global-cleanup do the same. An interrupted run "
    "exits with 0: the\n"
    "next one goes on.\n"
    "\nExamples:\n"
    "  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice cleanup\n"
    "  sluice cleanup --global sqlite:/var/lib/sluice/global.db --batch 500 --pause 1s";

void add_global(CLI::App& command, std::string& global) {
    command.add_option("--global", global, "The global database (also: SLUICE_GLOBAL)")
        ->type_name("URL");
}

// The global database that a command is to work on, from its flag or the environment.
Result<std::string> global_of(const std::string& flag, const Environment& environment) {
    std::string url = flag.empty() ? variable(environment, "SLUICE_GLOBAL") : flag;
    if (url.empty())
        return Error{kInvalidOption,
                     "--global is missing; allowed is mysql://[user[:password]@]host[:port]/"
                     "database or sqlite:PATH, also in SLUICE_GLOBAL"};
    if (auto error = invalid_global(url)) return *std::move(error);
    return url;
}

void add_migrate(Commands& commands) {
    CLI::App& migrate =
        commands.add("migrate", "Make or upgrade the tables of a global database", kMigrateFooter);
    const auto command = std::make_shared<MigrateCommand>();
    add_global(migrate, command->global);
    migrate.add_flag("--dry-run", command->dry_run, "Print what would be run, and run nothing");
    commands.set_run(migrate, [command, &migrate](const Environment& environment) {
        warn_of_variables(migrate, environment);
        auto global = global_of(command->global, environment);
        if (!global) return fail(migrate, global.error(), environment);
        command->global = *std::move(global);
        return run_migrate(*command, environment.out, environment.err);
    });
}

struct CleanupArguments {
    CleanupCommand command;
    std::string pause = "100ms";
};

void add_cleanup(Commands& commands) {
    CLI::App& cleanup =
        commands.add("cleanup", "Delete expired counts from a global database", kCleanupFooter);
    const auto arguments = std::make_shared<CleanupArguments>();
    add_global(cleanup, arguments->command.global);
    cleanup.add_option("--batch", arguments->command.batch, "The most that one statement deletes")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    cleanup.add_option("--pause", arguments->pause, "How long to wait between two")
        ->type_name("TIME")
        ->capture_default_str();
    commands.set_run(cleanup, [arguments, &cleanup](const Environment& environment) {
        warn_of_variables(cleanup, environment);
        auto global = global_of(arguments->command.global, environment);
        if (!global) return fail(cleanup, global.error(), environment);
        const auto pause = duration_of("--pause", arguments->pause);
        if (!pause) return fail(cleanup, pause.error(), environment);
        arguments->command.global = *std::move(global);
        arguments->command.pause = *pause;
        return run_cleanup(arguments->command, environment.out, environment.err);
    });
}

}  // namespace

void add_database_commands(Commands& commands) {
    add_migrate(commands);
    add_cleanup(commands);
}

}  // namespace sluice::cli
