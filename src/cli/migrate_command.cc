#include "cli/migrate_command.h"

#include <ostream>

#include "service/global_store_url.h"

namespace sluice::cli {
namespace {

std::string versions_of(const Migration& migration) {
    const std::string to = "version " + std::to_string(migration.to);
    if (migration.from == 0) return "no tables to " + to;
    return "version " + std::to_string(migration.from) + " to " + to;
}

}  // namespace

ExitCode run_migrate(const MigrateCommand& command, std::ostream& out, std::ostream& err) {
    const auto migration =
        migrate_global(command.global, command.dry_run ? DryRun::kYes : DryRun::kNo);
    if (!migration) {
        err << "sluice migrate: " << migration.error().message << "\n";
        return ExitCode::kError;
    }
    const std::string shown = shown_global(command.global);
    if (migration->statements.empty()) {
        out << shown << ": up to date, version " << migration->to << "\n";
        return ExitCode::kOk;
    }
    if (!command.dry_run) {
        out << shown << ": from " << versions_of(*migration) << "\n";
        return ExitCode::kOk;
    }
    // Comments, so that the whole can be given to a database's own client.
    out << "-- " << shown << ": would go from " << versions_of(*migration) << " by this:\n";
    for (const std::string& statement : migration->statements)
        out << "\n" << statement << ";\n";
    return ExitCode::kOk;
}

}  // namespace sluice::cli
