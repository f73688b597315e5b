// The options that name the settings of a server, for each command that loads them.
#ifndef SLUICE_CLI_SETTINGS_FLAGS_H_
#define SLUICE_CLI_SETTINGS_FLAGS_H_

#include <memory>

#include "cli/program.h"
#include "config/load.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// Whether --help of the command lists the flag of every setting.
enum class FlagHelp { kShown, kHidden };

// Adds --config, --token and the flag of every setting, which write to the returned object.
std::shared_ptr<config::Sources> add_settings_flags(CLI::App& command, FlagHelp help);

// The sources of a parsed command: only the flags that were given, and the environment.
config::Sources given_sources(const CLI::App& command,
                              const config::Sources& sources,
                              const Environment& environment);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_SETTINGS_FLAGS_H_
