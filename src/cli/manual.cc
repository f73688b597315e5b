#include "cli/manual.h"

#include <algorithm>
#include <sstream>

#include "cli/roff.h"
#include "config/catalog.h"
#include "config/default_file.h"
#include "config/file.h"
#include "config/setting_text.h"
#include "server/version.h"

namespace sluice::cli {
namespace {

constexpr const char* kProgram = "sluice";
constexpr const char* kServe = "sluice-serve";
constexpr const char* kFile = "sluice.toml";

RoffPage page_of(const char* name, const char* section, const char* about) {
    RoffPage page({.name = name,
                   .section = section,
                   .date = server::kCommitDate,
                   .source = std::string("sluice ") + server::kVersion,
                   .manual = "Sluice manual"});
    page.section("NAME");
    page.paragraph(std::string(name) + " - " + about);
    return page;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

// "--config, -c FILE", the help below it.
void append_option(RoffPage& page, const OptionHelp& option) {
    if (option.is_hidden) return;
    const std::string names = joined(option.names);
    std::istringstream lines(option.help);
    std::string line;
    std::getline(lines, line);
    if (!option.initial.empty()) line += " (default: " + option.initial + ")";
    if (option.is_positional && !option.words.empty()) line += ": " + joined(option.words);
    page.item(names, option.is_positional ? "" : option.value_name, line);
    while (std::getline(lines, line))
        page.more(line);
}

// "sluice limit [OPTIONS] NAMESPACE IDENTIFIER"
std::string synopsis_of(const CommandHelp& command) {
    std::string line = "sluice" + (command.name.empty() ? "" : " " + command.name) + " [OPTIONS]";
    for (const OptionHelp& option : command.options) {
        if (!option.is_positional) continue;
        line += option.is_required ? " " + option.value_name : " [" + option.value_name + "]";
    }
    return line + (command.commands.empty() ? "" : " COMMAND");
}

void append_environment(RoffPage& page) {
    page.section("ENVIRONMENT");
    page.item("SLUICE_CONFIG", "", "The settings file, where --config is not given.");
    page.item("SLUICE_URL", "", "The server that client commands call.");
    page.item("SLUICE_ADMIN_URL", "", "The admin listener that sluice top, status and fleet call.");
    page.item("SLUICE_TOKEN", "", "The token that client commands send.");
    page.item("SLUICE_CA_CERT, SLUICE_CLIENT_CERT, SLUICE_CLIENT_KEY",
              "",
              "PEM files of client commands, as with --ca-cert, --client-cert and --client-key.");
    page.item("SLUICE_INSECURE",
              "",
              "With the value true, client commands accept any certificate, unless --ca-cert is "
              "given.");
    page.item("SLUICE_SERVER_TOKENS",
              "",
              "Tokens that the server accepts, separated by spaces, each with all permissions.");
    page.item("SLUICE_*", "", "Every setting of sluice.toml(5), such as SLUICE_LOG_LEVEL.");
}

std::string program_page(const CommandHelp& tree) {
    RoffPage page = page_of(kProgram, "1", "rate limiter with sliding windows");
    page.section("SYNOPSIS");
    page.help("  " + synopsis_of(tree) + "\n");
    page.section("DESCRIPTION");
    page.paragraph(tree.about);
    page.section("OPTIONS");
    for (const OptionHelp& option : tree.options)
        append_option(page, option);
    page.section("COMMANDS");
    for (const CommandHelp* command : all_commands(tree)) {
        if (command->name.empty()) continue;
        page.subsection(synopsis_of(*command));
        page.paragraph(command->about + ".");
        if (command->name == "serve") {
            page.paragraph("See sluice-serve(1).");
            continue;
        }
        for (const OptionHelp& option : command->options)
            append_option(page, option);
        page.help(command->footer);
    }
    append_environment(page);
    page.section("EXIT STATUS");
    page.item("0", "", "Done; for limit, the request passed; for health, the server is ready.");
    page.item("1", "", "Denied, not ready, or not found, as each command says.");
    page.item("2", "", "Wrong usage, an invalid setting, or no response.");
    page.section("EXAMPLES");
    page.help(tree.footer);
    page.section("SEE ALSO");
    page.paragraph("sluice-serve(1), sluice.toml(5)");
    return page.text();
}

std::string serve_page(const CommandHelp& tree) {
    RoffPage page = page_of(kServe, "1", "run a server that limits rates");
    const auto serve = std::ranges::find(tree.commands, "serve", &CommandHelp::name);
    page.section("SYNOPSIS");
    page.help("  " + synopsis_of(*serve) + "\n");
    page.section("DESCRIPTION");
    page.help(serve->footer);
    page.section("OPTIONS");
    for (const OptionHelp& option : serve->options)
        append_option(page, option);
    page.section("SIGNALS");
    page.item("SIGHUP",
              "",
              "Reload tokens, log level and certificate. Renewed files of tls.* are loaded by "
              "themselves.");
    page.item("SIGTERM, SIGINT",
              "",
              "Stop accepting, complete requests in flight, flush counts and exit. A second one "
              "exits at once.");
    append_environment(page);
    page.section("FILES");
    page.item("/etc/sluice/sluice.toml", "", "The settings of the service; see sluice.toml(5).");
    page.item("/var/lib/sluice", "", "The data folder of the service.");
    page.section("SEE ALSO");
    page.paragraph("sluice(1), sluice.toml(5)");
    return page.text();
}

void append_setting(RoffPage& page, const config::Setting& setting) {
    if (is_for_tests(setting)) return;
    const std::string initial = default_of(setting);
    const bool has_default = initial != "\"\"";
    page.item(setting.key, has_default ? "= " + initial : "", std::string(setting.help) + ".");
    page.more("Allowed: " + std::string(setting.allowed) + ".");
    if (!has_default) page.more("Default: none. Example: " + example_of(setting));
    page.more("Flag " + config::flag_of(setting.key) + ", variable " +
              config::variable_of(setting.key));
}

std::string file_page() {
    RoffPage page = page_of(kFile, "5", "settings of the Sluice server");
    page.section("DESCRIPTION");
    page.paragraph(
        "A file in TOML with the settings of sluice-serve(1). A key with a dot may be written in a "
        "table: level in [log] is log.level. The environment overrides the file, and flags "
        "override both. A setting that is unknown or not allowed stops the server before it "
        "listens.");
    page.paragraph(
        "A duration is text: a whole number with ms, s, m, h or d. The command sluice config "
        "default prints a file with every setting, commented out; sluice check-config checks a "
        "file.");
    page.section("SETTINGS");
    for (const config::Setting& setting : config::catalog())
        append_setting(page, setting);
    page.section("TOKENS");
    page.paragraph(
        "Each [[tokens]] table is a token that clients may present; sluice token prints one.");
    for (const config::TokenFieldHelp& field : config::token_fields())
        page.item(field.name, "", "Allowed: " + std::string(field.allowed) + ".");
    page.section("FILES");
    page.item("/etc/sluice/sluice.toml", "", "The settings of the service.");
    page.section("EXAMPLES");
    page.help(
        "  listen = \"127.0.0.1:8080\"\n  admin_listen = \"127.0.0.1:9090\"\n"
        "  data_dir = \"/var/lib/sluice\"\n\n  [log]\n  format = \"json\"\n");
    page.section("SEE ALSO");
    page.paragraph("sluice(1), sluice-serve(1)");
    return page.text();
}

}  // namespace

std::vector<std::string> manual_pages() {
    return {std::string(kProgram) + ".1", std::string(kServe) + ".1", std::string(kFile) + ".5"};
}

std::optional<std::string> manual_page(std::string_view page, const CommandHelp& tree) {
    const std::vector<std::string> names = manual_pages();
    if (page == names[0]) return program_page(tree);
    if (page == names[1]) return serve_page(tree);
    if (page == names[2]) return file_page();
    return std::nullopt;
}

}  // namespace sluice::cli
