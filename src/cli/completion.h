// Completion scripts for shells, written from the tree of commands.
#ifndef SLUICE_CLI_COMPLETION_H_
#define SLUICE_CLI_COMPLETION_H_

#include <string>

#include "cli/command_tree.h"

namespace sluice::cli {

// Each completes commands, options, the values of options that allow a few words, and files.
std::string bash_completion(const CommandHelp& tree);
std::string zsh_completion(const CommandHelp& tree);
std::string fish_completion(const CommandHelp& tree);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_COMPLETION_H_
