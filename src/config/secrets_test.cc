// Tests of settings that hold secrets: tokens, and URLs with passwords.
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "config/load.h"
#include "config/temporary_settings.h"

namespace sluice::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHash =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::string token_lines(const std::string& more) {
    return "[[tokens]]\nname = \"a\"\nsha256 = \"" + std::string(kHash) + "\"\n" + more;
}

TEST(TokenTables, AreReadFromTheFile) {
    const Settings settings =
        settings_of(token_lines("workspace = \"acme\"\nnamespaces = [\"email.*\", "
                                "\"sms\"]\npermissions = [\"limit\", \"set_override\"]\n"));
    const Token expected{.name = "a",
                         .sha256 = sha256_of("abc"),
                         .workspace = "acme",
                         .namespaces = {"email.*", "sms"},
                         .permissions = {.limit = true, .set_override = true}};
    EXPECT_EQ(settings.tokens, std::vector<Token>{expected});
}

TEST(TokenTables, GrantOnlyLimitInTheDefaultWorkspaceByDefault) {
    const Token token = settings_of(token_lines("")).tokens.at(0);
    EXPECT_EQ(token.workspace, "default");
    EXPECT_EQ(token.namespaces, std::vector<std::string>{"*"});
    EXPECT_EQ(token.permissions, Permissions{.limit = true});
}

TEST(TokenTables, AreRefusedWithTheLineNumber) {
    EXPECT_EQ(fault_of(token_lines("workspace = 3\n")),
              "FILE:4: tokens[0].workspace is 3; allowed is a text of 1 to 512 bytes");
    EXPECT_EQ(fault_of(token_lines("namespaces = []\n")),
              "FILE:4: tokens[0].namespaces is []; allowed is a list of 1 to 1000 patterns of 1 to "
              "512 bytes, such as [\"email.*\"]");
    EXPECT_EQ(fault_of(token_lines("permissions = [\"limit\", \"fly\"]\n")),
              "FILE:4: tokens[0].permissions is [ 'limit', 'fly' ]; allowed is a list of one or "
              "more of limit, read_override, "
              "set_override, delete_override, read_metrics, read_keys");
    EXPECT_EQ(fault_of("\n[[tokens]]\nname = \"a\"\n"),
              "FILE:2: tokens[0].sha256 is missing; allowed is the token's SHA-256 in 64 "
              "hexadecimal digits, as `sluice token` prints it");
    EXPECT_EQ(fault_of("tokens = [1]\n"),
              "FILE:1: tokens is a value that is not shown; allowed is a list of up to 1000 "
              "[[tokens]] tables");
}

TEST(TokenTables, AreUnique) {
    const std::string hash = "sha256 = \"" + std::string(kHash) + "\"\n";
    const std::string other = "sha256 = \"" + std::string(64, '0') + "\"\n";
    EXPECT_EQ(fault_of(token_lines("[[tokens]]\nname = \"a\"\n" + other)),
              "FILE:4: tokens[1].name is \"a\"; allowed is a text of 1 to 64 bytes that no other "
              "token has");
    EXPECT_EQ(fault_of(token_lines("[[tokens]]\nname = \"b\"\n" + hash)),
              "FILE:4: tokens[1].sha256 is that of \"a\"; allowed is one that no other token has");
}

TEST(TokenTables, NeverShowAMisplacedSecret) {
    for (const char* line : {"sha256 = \"sluice_hush\"\n",
                             "sha265 = \"sluice_hush\"\n",
                             "secret = \"sluice_hush\"\n"}) {
        EXPECT_EQ(fault_of(std::string("[[tokens]]\nname = \"a\"\n") + line).find("hush"),
                  std::string::npos);
    }
    EXPECT_EQ(fault_of("token = \"sluice_hush\"\n").find("hush"), std::string::npos);
    EXPECT_EQ(fault_of("tokens = \"sluice_hush\"\n").find("hush"), std::string::npos);
    EXPECT_EQ(
        fault_of(with_variable("SLUICE_SERVER_TOKENS", "sluice_h\xc3\xbcsh")).find("sluice_h"),
        std::string::npos);
}

TEST(BareTokens, ComeFromFlagsAndTheEnvironment) {
    const Loaded by_flag =
        loaded_from({.file = {}, .environment = {}, .flags = {}, .tokens = {"abc", "def", "abc"}});
    ASSERT_EQ(by_flag.settings.tokens.size(), 2U);
    EXPECT_EQ(by_flag.settings.tokens[0].sha256, sha256_of("abc"));
    EXPECT_EQ(by_flag.settings.tokens[0].permissions, kAllPermissions);
    const auto by_variable = with_variable("SLUICE_SERVER_TOKENS", "abc def");
    ASSERT_TRUE(by_variable);
    ASSERT_EQ(by_variable->settings.tokens.size(), 2U);
    EXPECT_EQ(by_variable->settings.tokens[1].sha256, sha256_of("def"));
}

TEST(BareTokens, ReplaceThoseOfALowerPrioritySource) {
    const TemporaryFile file(token_lines(""));
    const Settings settings = loaded_from({.file = file.path(),
                                           .environment = {{"SLUICE_SERVER_TOKENS", "two"}},
                                           .flags = {},
                                           .tokens = {"three"}})
                                  .settings;
    ASSERT_EQ(settings.tokens.size(), 1U);
    EXPECT_EQ(settings.tokens[0].sha256, sha256_of("three"));
}

TEST(BareTokens, AreRefusedIfNoHeaderCanCarryThem) {
    EXPECT_EQ(
        fault_of(load_settings({.file = {}, .environment = {}, .flags = {}, .tokens = {"a b"}})),
        "--token: token is a value that is not shown; allowed is 1 to 512 visible ASCII "
        "characters");
    EXPECT_EQ(fault_of(with_variable("SLUICE_SERVER_TOKENS", "")),
              "SLUICE_SERVER_TOKENS: token is 0 tokens; allowed is 1 to 1000 of them");
}

TEST(BareTokens, DoNotIncludeTheTokenOfClients) {
    const auto without = with_variable("SLUICE_TOKEN", "abc");
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->settings.tokens.empty());
    ASSERT_EQ(without->warnings.size(), 1U);
    EXPECT_TRUE(without->warnings[0].starts_with("SLUICE_TOKEN is ignored: "))
        << without->warnings[0];
    EXPECT_EQ(without->warnings[0].find("abc"), std::string::npos);

    const Loaded with = loaded_from(
        {.file = {}, .environment = {{"SLUICE_TOKEN", "abc"}}, .flags = {}, .tokens = {"def"}});
    ASSERT_EQ(with.settings.tokens.size(), 1U);
    EXPECT_EQ(with.settings.tokens[0].sha256, sha256_of("def"));
    EXPECT_TRUE(with.warnings.empty());

    const std::string fault = fault_of(load_settings({.file = {},
                                                      .environment = {{"SLUICE_TOKEN", "abc"}},
                                                      .flags = {{"listen", "0.0.0.0:1"}},
                                                      .tokens = {}}));
    EXPECT_TRUE(fault.ends_with(
        "; SLUICE_TOKEN is for clients, a server's tokens are in SLUICE_SERVER_TOKENS"))
        << fault;
}

TEST(SettingsFile, WithSecretsThatEveryUserCanReadCausesAWarning) {
    const auto warnings_of = [](const std::string& toml, mode_t mode) {
        const TemporaryFile file(toml);
        ::chmod(file.path().c_str(), mode);
        return loaded_from({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}})
            .warnings;
    };
    for (const std::string& toml :
         {token_lines(""), std::string("origin = \"redis://:hush@host\"\n")}) {
        const std::vector<std::string> warnings = warnings_of(toml, 0644);
        ASSERT_EQ(warnings.size(), 1U) << toml;
        EXPECT_NE(warnings[0].find("every user of this machine can read or change it"),
                  std::string::npos)
            << warnings[0];
        EXPECT_EQ(warnings[0].find("hush"), std::string::npos);
        EXPECT_TRUE(warnings_of(toml, 0640).empty());
        EXPECT_TRUE(warnings_of(toml, 0600).empty());
    }
    EXPECT_TRUE(warnings_of("region = \"eu\"\n", 0644).empty());
}

TEST(OriginSetting, IsNotShownIfItIsRefused) {
    for (const std::string given : {"redis://:hush",
                                    "redis::hush@host",
                                    "redis:/:hush@host",
                                    "rediss//:hush@host",
                                    ":hush@host",
                                    "redis://:hush@host:port"}) {
        const std::string fault = fault_of(with_variable("SLUICE_ORIGIN", given));
        EXPECT_TRUE(fault.starts_with("SLUICE_ORIGIN: origin is a value that is not shown;"))
            << fault;
    }
}

TEST(GlobalSetting, IsNotShownIfItIsRefused) {
    for (const std::string variable : {"SLUICE_GLOBAL", "SLUICE_GLOBAL_REPLICA"}) {
        for (const std::string given : {"mysql://root:hush",
                                        "mysql:root:hush@host",
                                        "hush",
                                        "memory:hush",
                                        "mysql://root:hush@host:port/db",
                                        "mysql://root:hush@host/"}) {
            const std::string fault = fault_of(with_variable(variable, given));
            EXPECT_TRUE(fault.starts_with(variable + ": ")) << fault;
            EXPECT_NE(fault.find(" is a value that is not shown; allowed is mysql://"),
                      std::string::npos)
                << fault;
            EXPECT_EQ(fault.find("hush"), std::string::npos) << fault;
        }
    }
}

TEST(GlobalSetting, IsDescribedWithoutItsPassword) {
    const std::string text = describe(
        loaded_from({.file = {},
                     .environment = {{"SLUICE_GLOBAL", "mysql://sluice:hush@db:3307/limits"}},
                     .flags = {{"region", "eu"}, {"global_replica", "mysql://r:hush@copy/limits"}},
                     .tokens = {}}));
    EXPECT_EQ(text.find("hush"), std::string::npos) << text;
    EXPECT_NE(text.find("global = \"mysql://sluice@db:3307/limits\"  # SLUICE_GLOBAL\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("global_replica = \"mysql://r@copy"), std::string::npos) << text;
    EXPECT_NE(text.find("global_cleanup = false  # default\n"), std::string::npos) << text;
}

TEST(GlobalSetting, NeedsAnExplicitRegion) {
    const std::string fault =
        "default: region is \"local\"; allowed is a name that no other region has, by --region, "
        "SLUICE_REGION or the file, since global is set: regions with the same name would "
        "mistake each other's counts for their own";
    EXPECT_EQ(fault_of("global = \"sqlite:g.db\"\n"), fault);
    EXPECT_EQ(fault_of(with_variable("SLUICE_GLOBAL", "mysql://host/db")), fault);
    EXPECT_EQ(fault_of("global = \"sqlite:g.db\"\nregion = \"local\"\n"), "no fault");
    EXPECT_TRUE(loaded_from({.file = {},
                             .environment = {{"SLUICE_REGION", "eu"}},
                             .flags = {{"global", "mysql://host/db"}},
                             .tokens = {}})
                    .settings.region == "eu");
    EXPECT_EQ(fault_of(""), "no fault");
}

TEST(GlobalSetting, IsRequiredByRelatedSettings) {
    EXPECT_EQ(fault_of("region = \"eu\"\nglobal = \"sqlite:g.db\"\nglobal_replica = "
                       "\"mysql://host/db\"\n"),
              "FILE:2: global is \"sqlite:g.db\"; allowed is a mysql:// URL, since global_replica "
              "is set");
    EXPECT_EQ(fault_of("global_cleanup = true\n"),
              "FILE:1: global_cleanup is true; allowed is false as long as global is not set");
    EXPECT_EQ(fault_of("test_global_interval = \"100ms\"\n"),
              "FILE:1: test_global_interval is \"100ms\"; allowed is 0s unless test_clock is true: "
              "it is for tests alone");
    EXPECT_EQ(fault_of("test_clock = true\ntest_global_interval = \"100ms\"\n"), "no fault");
    EXPECT_NE(fault_of("test_clock = true\ntest_global_interval = \"1ms\"\n"), "no fault");
}

TEST(Description, ListsEachSettingWithItsSource) {
    const std::string text = describe(loaded_from({.file = {},
                                                   .environment = {{"SLUICE_REGION", "eu"}},
                                                   .flags = {{"threads", "2"}},
                                                   .tokens = {"abc"}}));
    EXPECT_NE(text.find("listen = \"127.0.0.1:8080\"  # default\n"), std::string::npos) << text;
    EXPECT_NE(text.find("region = \"eu\"  # SLUICE_REGION\n"), std::string::npos);
    EXPECT_NE(text.find("threads = 2  # --threads\n"), std::string::npos);
    EXPECT_NE(text.find("permissions = [\"limit\", \"read_override\", \"set_override\", "
                        "\"delete_override\", \"read_metrics\", \"read_keys\"]\n"),
              std::string::npos);
    EXPECT_EQ(text.find("abc"), std::string::npos);
    EXPECT_EQ(text.find(kHash), std::string::npos);
}

}  // namespace
}  // namespace sluice::config
