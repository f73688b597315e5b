// The manual pages, written from the tree of commands and the catalog of settings.
#ifndef SLUICE_CLI_MANUAL_H_
#define SLUICE_CLI_MANUAL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"

namespace sluice::cli {

// sluice.1, sluice-serve.1 and sluice.toml.5.
std::vector<std::string> manual_pages();

// One of them, for man(1); none if there is no such page.
std::optional<std::string> manual_page(std::string_view page, const CommandHelp& tree);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_MANUAL_H_
