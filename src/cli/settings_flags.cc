#include "cli/settings_flags.h"

#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "config/catalog.h"
#include "config/setting_text.h"

namespace sluice::cli {
namespace {

// The purpose of a setting, the allowed values and the default.
std::string help_of(const config::Setting& setting) {
    std::string text(setting.help);
    if (!setting.value_name.empty()) text += "\nallowed: " + std::string(setting.allowed);
    const std::string initial = default_of(setting);
    return text + "\ndefault: " + (initial == "\"\"" ? "none" : initial);
}

void add_setting(CLI::App& command,
                 const config::Setting& setting,
                 FlagHelp help,
                 std::string& value) {
    // The short form of the one setting that turns a protocol on.
    const std::string flag =
        config::flag_of(setting.key) + (setting.key == "grpc.listen" ? ",--grpc" : "");
    CLI::Option* const option = setting.value_name.empty()
                                    ? command.add_flag_callback(
                                          flag, [&value] { value = "true"; }, help_of(setting))
                                    : command.add_option(flag, value, help_of(setting))
                                          ->type_name(std::string(setting.value_name));
    // An option without a group is not in the help.
    if (help == FlagHelp::kHidden || config::is_for_tests(setting)) option->group("");
}

}  // namespace

std::shared_ptr<config::Sources> add_settings_flags(CLI::App& command, FlagHelp help) {
    const auto sources = std::make_shared<config::Sources>();
    command
        .add_option("--config", sources->file, "A TOML file with settings (also: SLUICE_CONFIG)")
        ->type_name("FILE");
    CLI::Option* const token = command.add_option(
        "--token",
        sources->tokens,
        "A token with all permissions. Other users see it in the list of processes;\n"
        "prefer SLUICE_SERVER_TOKENS or the file");
    token->type_name("TOKEN")->expected(1)->take_all();
    if (help == FlagHelp::kHidden) token->group("");
    for (const config::Setting& setting : config::catalog())
        add_setting(command, setting, help, sources->flags[std::string(setting.key)]);
    return sources;
}

config::Sources given_sources(const CLI::App& command,
                              const config::Sources& sources,
                              const Environment& environment) {
    config::Sources given = sources;
    std::erase_if(given.flags, [&](const auto& flag) {
        return command.count(config::flag_of(flag.first)) == 0;
    });
    given.environment = environment.environment;
    return given;
}

}  // namespace sluice::cli
