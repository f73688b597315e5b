// `sluice doctor`: checks what the settings of a server name, and says what to change.
#include <memory>
#include <ostream>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/settings_flags.h"
#include "config/load.h"
#include "doctor/findings.h"
#include "doctor/machine_checks.h"
#include "doctor/store_checks.h"

namespace sluice::cli {
namespace {

using doctor::Findings;
using doctor::Level;

constexpr const char* kFooter =
    R"(Checks what `sluice serve` with the same options would use: Redis (memory, eviction, writes, rights, clock), MySQL
(tables, rights, modes, clock), NATS, addresses, the limit of open files, the data folder, certificates and rules.
Run it as the user of the server. Writes one key of Redis and one file in the data folder for a moment. Accepts
every flag of `sluice serve`. Exits with 0 if all is well, 1 with --strict if there are only warnings, 2 if
there are faults.

Examples:
  sluice doctor --config /etc/sluice/sluice.toml
  SLUICE_ORIGIN=redis://redis:6379 sluice doctor --strict --json)";

const char* name_of(Level level) {
    switch (level) {
        case Level::kOk:
            return "ok";
        case Level::kWarning:
            return "warning";
        case Level::kFault:
            return "fault";
    }
    return "";
}

Findings examine(const config::Loaded& loaded) {
    const config::Settings& settings = loaded.settings;
    Findings findings;
    for (const std::string& warning : loaded.warnings)
        findings.warn("settings", warning, "correct the setting");
    doctor::check_addresses(settings, findings);
    doctor::check_files(settings, findings);
    if (!settings.data_dir.empty()) doctor::check_data_dir(settings, findings);
    if (settings.tls.enabled()) doctor::check_tls(settings, findings);
    if (!settings.rules.empty()) doctor::check_rules(settings, findings);
    if (!settings.origin.empty()) doctor::check_redis(settings, findings);
    if (!settings.global.empty()) doctor::check_global(settings, findings);
    if (!settings.bus.empty()) doctor::check_bus(settings, findings);
    return findings;
}

void print_text(const Findings& findings, std::ostream& out) {
    for (const doctor::Finding& finding : findings.list()) {
        const std::string level = name_of(finding.level);
        out << level << std::string(9 - level.size(), ' ') << finding.subject << ": "
            << finding.what << "\n";
        if (!finding.change.empty()) out << "         change: " << finding.change << "\n";
    }
    out << findings.count(Level::kFault) << " faults, " << findings.count(Level::kWarning)
        << " warnings\n";
}

void print_json(const Findings& findings, std::ostream& out) {
    out << "{\"faults\":" << findings.count(Level::kFault)
        << ",\"warnings\":" << findings.count(Level::kWarning) << ",\"findings\":[";
    const char* separator = "";
    for (const doctor::Finding& finding : findings.list()) {
        out << separator << "{\"level\":" << json_string(name_of(finding.level))
            << ",\"subject\":" << json_string(finding.subject)
            << ",\"what\":" << json_string(finding.what);
        if (!finding.change.empty()) out << ",\"change\":" << json_string(finding.change);
        out << "}";
        separator = ",";
    }
    out << "]}\n";
}

}  // namespace

void add_doctor_command(Commands& commands) {
    struct Arguments {
        bool strict = false;
        bool json = false;
    };
    CLI::App& command =
        commands.add("doctor", "Check what a server needs, and say what to change", kFooter);
    const auto arguments = std::make_shared<Arguments>();
    command.add_flag("--strict", arguments->strict, "Exit with 1 if there are warnings");
    command.add_flag("--json", arguments->json, "Print JSON");
    const auto sources = add_settings_flags(command, FlagHelp::kHidden);
    commands.set_run(command, [arguments, sources, &command](const Environment& environment) {
        const auto loaded = config::load_settings(given_sources(command, *sources, environment));
        if (!loaded) return fail(command, loaded.error(), environment);
        const Findings findings = examine(*loaded);
        (arguments->json ? print_json : print_text)(findings, environment.out);
        if (findings.count(Level::kFault) > 0) return ExitCode::kError;
        const bool is_refused = arguments->strict && findings.count(Level::kWarning) > 0;
        return is_refused ? ExitCode::kDenied : ExitCode::kOk;
    });
}

}  // namespace sluice::cli
