#include "config/default_file.h"

#include <algorithm>
#include <array>

#include "config/catalog.h"
#include "config/setting_text.h"

namespace sluice::config {
namespace {

constexpr std::size_t kWidth = 98;

constexpr std::array<std::string_view, 3> kBegin = {
    "Settings of `sluice serve`. The lines below that begin with # and a letter are all settings "
    "with their defaults, or with an example where there is no default. Remove the # to change "
    "one.",
    "The environment overrides this file: SLUICE_LOG_LEVEL overrides `level` of [log]. Flags "
    "override both. `sluice check-config FILE` checks a file, `sluice config show --effective "
    "--config FILE` shows what applies and why; sluice.toml(5) describes the format. SIGHUP "
    "(`systemctl reload sluice`) reloads tokens, log level and certificate; other changes need a "
    "restart.",
    "A file with tokens or passwords must not be readable by everyone: mode 640 and the group of "
    "the server."};

constexpr std::string_view kTokens =
    "# Tokens of clients, at most 1000 tables. `sluice token --name web` prints a new one.\n"
    "#[[tokens]]\n"
    "#name = \"web\"\n"
    "#sha256 = \"8eb02cdd07cb24e2d5e09f9ba23cb8700eb14ba821c43d9780c5aee9b40c927b\"\n"
    "#workspace = \"default\"\n"
    "#namespaces = [\"*\"]\n"
    "#permissions = [\"limit\"]\n";

// "log" for log.level; empty for a key of no table.
std::string_view table_of(const Setting& setting) {
    const std::size_t dot = setting.key.find('.');
    return dot == std::string_view::npos ? std::string_view() : setting.key.substr(0, dot);
}

void append_prose(std::string& out, std::string_view text) {
    for (const std::string& line : wrapped(text, kWidth))
        out += "# " + line + "\n";
}

void append_setting(std::string& out, const Setting& setting) {
    const std::string_view table = table_of(setting);
    const std::string_view name =
        table.empty() ? setting.key : setting.key.substr(table.size() + 1);
    out += "\n";
    append_prose(out,
                 (is_for_tests(setting) ? "For tests only. " : "") + std::string(setting.help));
    append_prose(out, "Allowed: " + std::string(setting.allowed));
    if (default_of(setting) == "\"\"") append_prose(out, "Default: none. For example:");
    out += "#" + std::string(name) + " = " + example_of(setting) + "\n";
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        std::size_t end = text.size();
        if (end > width) {
            end = text.rfind(' ', width);
            if (end == std::string_view::npos || end == 0)
                end = std::min(text.find(' ', 1), text.size());
        }
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string default_file() {
    std::string text;
    for (const std::string_view paragraph : kBegin) {
        if (!text.empty()) text += "#\n";
        append_prose(text, paragraph);
    }
    // Keys of no table come before all tables. These are in the order of the catalog.
    std::vector<std::string_view> tables{""};
    for (const Setting& setting : catalog()) {
        if (std::ranges::find(tables, table_of(setting)) == tables.end())
            tables.push_back(table_of(setting));
    }
    for (const std::string_view table : tables) {
        if (!table.empty()) text += "\n[" + std::string(table) + "]\n";
        for (const Setting& setting : catalog()) {
            if (table_of(setting) == table) append_setting(text, setting);
        }
    }
    return text + "\n" + std::string(kTokens);
}

}  // namespace sluice::config
