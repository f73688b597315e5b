// `sluice config` and `check-config`: shows and checks the settings of a server.
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/commands.h"
#include "cli/settings_flags.h"
#include "config/default_file.h"
#include "config/load.h"
#include "rls/rule_file.h"
#include "server/resources.h"
#include "server/rule_subscription.h"
#include "url/xds_url.h"

namespace sluice::cli {
namespace {

constexpr const char* kCheckFooter =
    R"(Checks the settings that `sluice serve --config FILE` would use, with its certificates and rules. Exits with 2
and the reasons if it would refuse to start. `sluice config show` prints them.

Example:
  sluice check-config sluice.toml)";

constexpr const char* kConfigFooter = R"(
Examples:
  sluice config default > sluice.toml
  sluice config show --effective --config sluice.toml)";

constexpr const char* kShowFooter =
    R"(Prints the settings that `sluice serve` with the same options would use, each with its source: a line of the
file, a variable, a flag, or the default. Accepts every flag of `sluice serve`. Prints no secrets. Exits with 2
and the reasons if a setting is not allowed.

Examples:
  sluice config show --effective --config /etc/sluice/sluice.toml
  SLUICE_LOG_LEVEL=debug sluice config show --region eu)";

void print_warnings(const CLI::App& command,
                    const config::Loaded& loaded,
                    const Environment& environment) {
    for (const std::string& warning : loaded.warnings)
        environment.err << "sluice " << full_name(command) << ": warning: " << warning << "\n";
}

// Checks the rules that the settings name. Those of an xDS server are not asked for: it need not
// run, and may send others later.
std::optional<Error> check_rules(const config::Settings& settings, const Environment& environment) {
    if (settings.rules.empty()) return std::nullopt;
    if (is_xds_url(settings.rules)) {
        environment.err << "sluice check-config: warning: the rules come from " << settings.rules
                        << " and are not checked; `sluice rules list` shows them\n";
        return server::invalid_subscription(settings);
    }
    const auto rules = rls::load_rules(
        settings.rules,
        settings.rls.merge_domains ? rls::SameDomain::kMerge : rls::SameDomain::kRefuse);
    if (!rules) return rules.error();
    for (const std::string& warning : (*rules)->warnings())
        environment.err << "sluice check-config: warning: " << warning << "\n";
    return std::nullopt;
}

ExitCode check_config(const config::Sources& sources,
                      const CLI::App& command,
                      const Environment& environment) {
    const auto loaded = config::load_settings(sources);
    if (!loaded) return fail(command, loaded.error(), environment);
    const config::TlsSettings& tls = loaded->settings.tls;
    if (tls.enabled()) {
        const auto context = server::load_tls(tls);
        if (!context) return fail(command, context.error(), environment);
    }
    print_warnings(command, *loaded, environment);
    if (const auto error = check_rules(loaded->settings, environment))
        return fail(command, *error, environment);
    environment.out << sources.file << ": the settings are valid\n";
    return ExitCode::kOk;
}

void add_check_config(Commands& commands) {
    CLI::App& check = commands.add("check-config", "Check a settings file", kCheckFooter);
    const auto sources = std::make_shared<config::Sources>();
    check.add_option("FILE", sources->file, "A TOML file with settings")->required();
    commands.set_run(check, [sources, &check](const Environment& environment) {
        sources->environment = environment.environment;
        return check_config(*sources, check, environment);
    });
}

void add_show(Commands& commands, CLI::App& parent) {
    CLI::App& show = *parent.add_subcommand("show", "Print settings, each with its source");
    show.footer(kShowFooter);
    const auto effective = std::make_shared<bool>(false);
    show.add_flag("--effective", *effective, "Print all settings in effect, also the defaults");
    const auto sources = add_settings_flags(show, FlagHelp::kHidden);
    commands.set_run(show, [sources, effective, &show](const Environment& environment) {
        const auto loaded = config::load_settings(given_sources(show, *sources, environment));
        if (!loaded) return fail(show, loaded.error(), environment);
        print_warnings(show, *loaded, environment);
        environment.out << describe(*loaded,
                                    *effective ? config::Shown::kAll : config::Shown::kGiven);
        return ExitCode::kOk;
    });
}

void add_default(Commands& commands, CLI::App& parent) {
    CLI::App& command = *parent.add_subcommand(
        "default", "Print a settings file with every setting, commented out");
    command.footer("\nExample:\n  sluice config default > sluice.toml");
    commands.set_run(command, [](const Environment& environment) {
        environment.out << config::default_file();
        return ExitCode::kOk;
    });
}

}  // namespace

void add_config_commands(Commands& commands) {
    add_check_config(commands);
    CLI::App& parent = commands.add(
        "config", "Show the settings of a server, or a file to start from", kConfigFooter);
    parent.require_subcommand(1);
    add_show(commands, parent);
    add_default(commands, parent);
}

}  // namespace sluice::cli
