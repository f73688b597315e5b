// `sluice migrate`: makes or upgrades the tables of a global store.
#ifndef SLUICE_CLI_MIGRATE_COMMAND_H_
#define SLUICE_CLI_MIGRATE_COMMAND_H_

#include <iosfwd>
#include <string>

#include "cli/exit_code.h"

namespace sluice::cli {

struct MigrateCommand {
    std::string global;  // a URL
    bool dry_run = false;
};

// Prints from and to which version it went; for a dry run, what it would run.
ExitCode run_migrate(const MigrateCommand& command, std::ostream& out, std::ostream& err);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_MIGRATE_COMMAND_H_
