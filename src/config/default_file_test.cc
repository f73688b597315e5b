// The file of defaults, the examples in it, and the words that settings allow.
#include "config/default_file.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/catalog.h"
#include "config/file.h"
#include "config/load.h"
#include "config/setting_text.h"

namespace sluice::config {
namespace {

Result<Loaded> load(const std::string& text) {
    const std::string path =
        testing::TempDir() + "sluice_default_" + std::to_string(getpid()) + ".toml";
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
    auto loaded = load_settings({.file = path, .environment = {}, .flags = {}, .tokens = {}});
    std::remove(path.c_str());
    return loaded;
}

// The file with each commented setting switched on.
std::string switched_on() {
    std::istringstream lines(default_file());
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        const bool is_setting =
            line.size() > 1 && line[0] == '#' && (std::isalpha(line[1]) != 0 || line[1] == '[');
        text += line.substr(is_setting ? 1 : 0) + "\n";
    }
    return text;
}

TEST(DefaultFile, ParsesToTheDefaults) {
    const auto loaded = load(default_file());
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->settings, Settings{});
    EXPECT_TRUE(loaded->origins.empty());
    EXPECT_TRUE(loaded->warnings.empty());
}

// The settings of rules_tls are allowed only with an xDS server of rules: one file has both, the
// other one neither.
TEST(DefaultFile, ShowsEverySettingOnceWithAnExampleThatIsAllowed) {
    std::string by_files = switched_on();
    const std::size_t tls = by_files.find("\n[rules_tls]\n");
    ASSERT_NE(tls, std::string::npos);
    by_files.erase(tls + 1, by_files.find("\n[", tls + 1) - tls);
    std::string by_xds = switched_on();
    const std::string path = "\nrules = \"/etc/sluice/rules\"\n";
    ASSERT_NE(by_xds.find(path), std::string::npos);
    by_xds.replace(by_xds.find(path), path.size(), "\nrules = \"xdss://localhost:1?node=a\"\n");
    const auto with_files = load(by_files);
    const auto with_xds = load(by_xds);
    ASSERT_TRUE(with_files) << with_files.error().message;
    ASSERT_TRUE(with_xds) << with_xds.error().message;
    for (const Setting& setting : catalog()) {
        const auto& loaded = setting.key.starts_with("rules_tls.") ? with_xds : with_files;
        EXPECT_TRUE(loaded->origins.contains(std::string(setting.key))) << setting.key;
        EXPECT_NE(example_of(setting), "\"\"")
            << setting.key << " has no default. Fix it: give it an example in the catalog.";
        EXPECT_EQ(setting.show(loaded->settings), example_of(setting)) << setting.key;
    }
    EXPECT_EQ(with_files->settings.tokens.size(), 1U);
    for (const TokenFieldHelp& field : token_fields())
        EXPECT_NE(default_file().find("\n#" + std::string(field.name) + " = "), std::string::npos)
            << field.name;
}

TEST(DefaultFile, HasTheHelpOfASettingAndShortLines) {
    const std::string text = default_file();
    EXPECT_NE(text.find("\n# Format of log lines\n# Allowed: text or json\n#format = \"text\"\n"),
              std::string::npos)
        << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        EXPECT_TRUE(line.size() <= 100 || line.rfind(' ') < 4) << line;
}

TEST(DefaultFile, WrapsAtSpaces) {
    using Lines = std::vector<std::string>;
    EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
    EXPECT_EQ(wrapped("unbreakable a", 5), (Lines{"unbreakable", "a"}));
    EXPECT_EQ(wrapped("", 5), Lines{});
}

TEST(Catalog, KnowsTheWordsThatASettingAllows) {
    using Words = std::vector<std::string>;
    const auto words_of = [](const char* key) { return words_allowed(*find_setting(key)); };
    EXPECT_EQ(words_of("log.format"), (Words{"text", "json"}));
    EXPECT_EQ(words_of("log.level"), (Words{"trace", "debug", "info", "warn", "error", "off"}));
    EXPECT_EQ(words_of("log.requests"), (Words{"true", "false"}));
    EXPECT_EQ(words_of("listen"), Words{});
    EXPECT_EQ(words_of("origin"), Words{});
}

}  // namespace
}  // namespace sluice::config
