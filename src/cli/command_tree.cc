#include "cli/command_tree.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "config/catalog.h"
#include "config/setting_text.h"

namespace sluice::cli {
namespace {

// The words of "{bash,fish,zsh}", which a validator appends to the type of an option.
std::vector<std::string> words_in_braces(std::string_view type) {
    const std::size_t open = type.find('{');
    const std::size_t close = type.find('}', open == std::string_view::npos ? 0 : open);
    std::vector<std::string> words;
    if (open == std::string_view::npos || close == std::string_view::npos) return words;
    for (std::size_t begin = open + 1; begin < close;) {
        const std::size_t end = std::min(type.find(',', begin), close);
        words.emplace_back(type.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

// The placeholder in a type, without the validators that follow the parser's own names.
std::string placeholder_of(const std::string& type) {
    for (const std::string_view name : {"INT", "UINT", "FLOAT", "TEXT"}) {
        if (type.starts_with(std::string(name) + ":")) return std::string(name);
    }
    return type.empty() ? "VALUE" : type;
}

bool names_a_file(std::string_view placeholder) {
    constexpr std::array<std::string_view, 4> kPlaceholders = {"FILE", "PATH", "DIR", "SCENARIO"};
    return std::ranges::find(kPlaceholders, placeholder) != kPlaceholders.end();
}

// The words that the setting of this flag allows; none if the flag sets none.
std::vector<std::string> words_of_setting(const std::vector<std::string>& flags) {
    for (const config::Setting& setting : config::catalog()) {
        if (std::ranges::find(flags, config::flag_of(setting.key)) != flags.end())
            return words_allowed(setting);
    }
    return {};
}

OptionHelp help_of(const CLI::Option& option) {
    OptionHelp help;
    help.help = option.get_description();
    help.initial = option.get_default_str();
    help.is_required = option.get_required();
    help.is_hidden = option.get_group().empty();
    const std::string type = option.get_type_name();
    help.is_positional = option.get_positional() && option.get_lnames().empty();
    if (help.is_positional) {
        help.names.push_back(option.get_single_name());
        help.value_name = option.get_single_name();
    } else {
        for (const std::string& name : option.get_snames())
            help.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames())
            help.names.push_back("--" + name);
        if (option.get_items_expected_max() > 0) help.value_name = placeholder_of(type);
    }
    help.words = words_in_braces(type);
    if (help.words.empty() && !help.value_name.empty()) help.words = words_of_setting(help.names);
    help.takes_file = names_a_file(help.value_name);
    return help;
}

}  // namespace

CommandHelp command_tree(const CLI::App& app) {
    CommandHelp command;
    if (app.get_parent() != nullptr) command.name = full_name(app);
    command.about = app.get_description();
    command.footer = app.get_footer();
    for (const CLI::Option* option : app.get_options())
        command.options.push_back(help_of(*option));
    for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; }))
        command.commands.push_back(command_tree(*child));
    return command;
}

std::vector<const CommandHelp*> all_commands(const CommandHelp& tree) {
    std::vector<const CommandHelp*> commands{&tree};
    for (const CommandHelp& child : tree.commands) {
        const std::vector<const CommandHelp*> below = all_commands(child);
        commands.insert(commands.end(), below.begin(), below.end());
    }
    return commands;
}

std::string last_word(const CommandHelp& command) {
    return command.name.substr(command.name.rfind(' ') + 1);
}

}  // namespace sluice::cli
