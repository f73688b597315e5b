// `sluice migrate` and `cleanup`: the commands that work on a global database directly.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "service/global_store_url.h"
#include "url/store_url.h"

namespace sluice::cli {
namespace {

constexpr const char* kMigrateFooter =
    R"(Creates the tables in an empty database, or upgrades those of an older version; safe to repeat and to run
concurrently. Exits with 2 if it fails. Prefer SLUICE_GLOBAL to --global for a password.

Examples:
  sluice migrate --global mysql://sluice@db/limits --dry-run
  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice migrate)";

constexpr const char* kCleanupFooter =
    R"(Deletes the counts of windows that expired more than a minute ago. Run it periodically, for example from cron;
servers with --global-cleanup do the same. An interrupted run exits with 0, and the next one continues.

Examples:
  SLUICE_GLOBAL=mysql://sluice:secret@db/limits sluice cleanup
  sluice cleanup --global sqlite:/var/lib/sluice/global.db --batch 500 --pause 1s)";

void add_global(CLI::App& command, std::string& global) {
    command.add_option("--global", global, "URL of the global database (also: SLUICE_GLOBAL)")
        ->type_name("URL");
}

// The URL of the global database, from the flag or the environment.
Result<std::string> global_of(const std::string& flag, const Environment& environment) {
    std::string url = flag.empty() ? variable(environment, "SLUICE_GLOBAL") : flag;
    if (url.empty())
        return Error{kInvalidOption,
                     "--global is missing; allowed is mysql://[user[:password]@]host[:port]/"
                     "database or sqlite:PATH, also in SLUICE_GLOBAL"};
    if (auto error = invalid_global(url)) return *std::move(error);
    return url;
}

struct MigrateArguments {
    std::string global;  // a URL
    bool dry_run = false;
};

std::string versions_of(const Migration& migration) {
    const std::string to = "version " + std::to_string(migration.to);
    if (migration.from == 0) return "no tables to " + to;
    return "version " + std::to_string(migration.from) + " to " + to;
}

// Prints the versions before and after; for a dry run, the statements.
void print_migration(const Migration& migration,
                     const MigrateArguments& arguments,
                     std::ostream& out) {
    const std::string shown = shown_global(arguments.global);
    if (migration.statements.empty()) {
        out << shown << ": up to date, version " << migration.to << "\n";
        return;
    }
    if (!arguments.dry_run) {
        out << shown << ": from " << versions_of(migration) << "\n";
        return;
    }
    // An SQL comment, so that the output can be piped into a database client.
    out << "-- " << shown << ": would go from " << versions_of(migration) << " by this:\n";
    for (const std::string& statement : migration.statements)
        out << "\n" << statement << ";\n";
}

void add_migrate(Commands& commands) {
    CLI::App& migrate = commands.add(
        "migrate", "Create or upgrade the tables of a global database", kMigrateFooter);
    const auto arguments = std::make_shared<MigrateArguments>();
    add_global(migrate, arguments->global);
    migrate.add_flag("--dry-run", arguments->dry_run, "Print the statements without running them");
    commands.set_run(migrate, [arguments, &migrate](const Environment& environment) {
        warn_of_variables(migrate, environment);
        auto global = global_of(arguments->global, environment);
        if (!global) return fail(migrate, global.error(), environment);
        arguments->global = *std::move(global);
        const auto migration =
            migrate_global(arguments->global, arguments->dry_run ? DryRun::kYes : DryRun::kNo);
        if (!migration) return fail(migrate, migration.error(), environment);
        print_migration(*migration, *arguments, environment.out);
        return ExitCode::kOk;
    });
}

struct CleanupArguments {
    std::string global;         // a URL
    std::size_t batch = 1'000;  // the most rows that one statement deletes
    std::string pause = "100ms";
};

// Blocks SIGINT and SIGTERM while it exists: they end a pause at once, but never interrupt a
// statement.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigemptyset(&ends_);
        sigaddset(&ends_, SIGINT);
        sigaddset(&ends_, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &ends_, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

    // Waits for that time. Returns true as soon as a signal has arrived.
    bool wait(std::chrono::milliseconds time) const {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
        const timespec timeout{
            .tv_sec = seconds.count(),
            .tv_nsec = std::chrono::nanoseconds(time - seconds).count(),
        };
        while (true) {
            if (sigtimedwait(&ends_, nullptr, &timeout) >= 0) return true;
            if (errno != EINTR) return false;
        }
    }

  private:
    sigset_t ends_{};
    sigset_t before_{};
};

// Deletes until no expired rows are left, or SIGINT or SIGTERM arrives. Prints a line for every ten
// thousand rows, and the total.
ExitCode run_cleanup(const CleanupArguments& arguments,
                     std::chrono::milliseconds pause,
                     const CLI::App& command,
                     const Environment& environment) {
    constexpr std::uint64_t kRowsPerLine = 10'000;
    // Before the database library may start a thread, which inherits the signal mask.
    const BlockedSignals signals;
    // Cleanup covers all regions; the region's name matters only for publishing.
    const auto store = open_global({.url = arguments.global, .region = "cleanup"});
    if (!store) return fail(command, store.error(), environment);
    std::uint64_t next_line = kRowsPerLine;
    const auto pause_after = [&](std::uint64_t deleted) {
        if (deleted >= next_line) {
            environment.out << "deleted " << deleted << " rows so far" << std::endl;
            next_line = (deleted / kRowsPerLine + 1) * kRowsPerLine;
        }
        return !signals.wait(pause);
    };
    const auto outcome = cleanup_global(**store, {.batch = arguments.batch, .pause = pause_after});
    if (!outcome) return fail(command, outcome.error(), environment);
    environment.out << shown_global(arguments.global) << ": deleted " << outcome->deleted
                    << " expired rows"
                    << (outcome->complete ? "" : "; interrupted, more may be left") << "\n";
    return ExitCode::kOk;
}

void add_cleanup(Commands& commands) {
    CLI::App& cleanup =
        commands.add("cleanup", "Delete expired counts from a global database", kCleanupFooter);
    const auto arguments = std::make_shared<CleanupArguments>();
    add_global(cleanup, arguments->global);
    cleanup.add_option("--batch", arguments->batch, "Maximum number of rows per statement")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    cleanup.add_option("--pause", arguments->pause, "Pause between two statements")
        ->type_name("TIME")
        ->capture_default_str();
    commands.set_run(cleanup, [arguments, &cleanup](const Environment& environment) {
        warn_of_variables(cleanup, environment);
        auto global = global_of(arguments->global, environment);
        if (!global) return fail(cleanup, global.error(), environment);
        const auto pause = duration_of("--pause", arguments->pause);
        if (!pause) return fail(cleanup, pause.error(), environment);
        arguments->global = *std::move(global);
        return run_cleanup(*arguments, *pause, cleanup, environment);
    });
}

}  // namespace

void add_database_commands(Commands& commands) {
    add_migrate(commands);
    add_cleanup(commands);
}

}  // namespace sluice::cli
