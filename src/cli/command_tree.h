// The commands and options of the program as plain data, from which manual pages and completions
// are written. Taken from the parser, so that they agree with --help.
#ifndef SLUICE_CLI_COMMAND_TREE_H_
#define SLUICE_CLI_COMMAND_TREE_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::cli {

struct OptionHelp {
    std::vector<std::string> names;  // "--url"; for a positional argument its placeholder
    std::string value_name;          // placeholder of the value; empty for a switch
    std::string help;                // one line or several
    std::string initial;             // the default; empty: none
    std::vector<std::string> words;  // the allowed values, where only a few are
    bool is_positional = false;
    bool is_required = false;
    bool takes_file = false;  // the value is the path of a file or folder
    bool is_hidden = false;   // not in --help, but offered by completions
};

struct CommandHelp {
    std::string name;  // as typed after `sluice`: "override set"; empty for the program itself
    std::string about;
    std::string footer;
    std::vector<OptionHelp> options;
    std::vector<CommandHelp> commands;
};

// `app` and everything below it.
CommandHelp command_tree(const CLI::App& app);

// The tree as a list, parents before children.
std::vector<const CommandHelp*> all_commands(const CommandHelp& tree);

// The last word of the name.
std::string last_word(const CommandHelp& command);

}  // namespace sluice::cli

#endif  // SLUICE_CLI_COMMAND_TREE_H_
