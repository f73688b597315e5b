#include "config/ratelimit_variables.h"

#include <string>

#include <gtest/gtest.h>

#include "config/load.h"
#include "config/temporary_settings.h"

namespace sluice::config {
namespace {

Loaded loaded_with(std::map<std::string, std::string> environment) {
    return loaded_from(
        {.file = {}, .environment = std::move(environment), .flags = {}, .tokens = {}});
}

TEST(RatelimitVariables, ThatChangeAnswersSetSettings) {
    const RlsSettings rls = loaded_with({{"SHADOW_MODE", "TRUE"},
                                         {"QUOTA_MODE", "1"},
                                         {"RESPONSE_DYNAMIC_METADATA", "t"},
                                         {"MERGE_DOMAIN_CONFIG", "True"},
                                         {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", "true"},
                                         {"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", "true"},
                                         {"LIMIT_RESPONSE_HEADERS_ENABLED", "true"},
                                         {"LIMIT_LIMIT_HEADER", "X-Limit"},
                                         {"LIMIT_RESET_HEADER", "X-Reset"},
                                         {"LIMIT_REQUEST_HEADERS_ENABLED", "false"},
                                         {"LIMIT_REQUEST_REMAINING_HEADER", "x-left"}})
                                .settings.rls;
    EXPECT_TRUE(rls.shadow_mode);
    EXPECT_TRUE(rls.quota_mode);
    EXPECT_TRUE(rls.dynamic_metadata);
    EXPECT_TRUE(rls.merge_domains);
    EXPECT_FALSE(rls.count_denied);
    EXPECT_TRUE(rls.needs_rules);
    EXPECT_EQ(rls.response_headers,
              (LimitHeaderSettings{true, "X-Limit", "RateLimit-Remaining", "X-Reset"}));
    EXPECT_EQ(rls.request_headers,
              (LimitHeaderSettings{false, "RateLimit-Limit", "x-left", "RateLimit-Reset"}));
}

TEST(RatelimitVariables, AreOverriddenByOurOwn) {
    const Loaded loaded =
        loaded_with({{"SHADOW_MODE", "true"}, {"SLUICE_RLS_SHADOW_MODE", "false"}});
    EXPECT_FALSE(loaded.settings.rls.shadow_mode);
    EXPECT_EQ(loaded.origins.at("rls.shadow_mode"), "SLUICE_RLS_SHADOW_MODE");
}

TEST(RatelimitVariables, AreRefusedByTheirOwnName) {
    EXPECT_EQ(fault_of(with_variable("SHADOW_MODE", "maybe")),
              "SHADOW_MODE: rls.shadow_mode is \"maybe\"; allowed is true or false");
    EXPECT_NE(fault_of(with_variable("LIMIT_LIMIT_HEADER", "X Limit")).find("LIMIT_LIMIT_HEADER"),
              std::string::npos);
}

TEST(RatelimitVariables, ThatAreIgnoredAreListedWhereThereAreRules) {
    const std::map<std::string, std::string> environment = {
        {"REDIS_URL", "redis:6379"}, {"USE_STATSD", "false"}, {"PORT", "8080"}, {"HOME", "/root"}};
    EXPECT_TRUE(loaded_with(environment).warnings.empty());
    auto with_rules = environment;
    with_rules["SLUICE_RULES"] = "/etc/rules";
    const Loaded loaded = loaded_with(with_rules);
    EXPECT_EQ(loaded.settings.rules, "/etc/rules");
    ASSERT_EQ(loaded.warnings.size(), 1U);
    EXPECT_EQ(loaded.warnings.front(),
              "variables of envoyproxy/ratelimit that are ignored: REDIS_URL, USE_STATSD");
}

TEST(RulesSettings, AreReadFromAFile) {
    const Settings settings = settings_of(
        "rules = \"rules.yaml\"\n[rls]\ncounting = \"all_or_nothing\"\n"
        "workspace = \"acme\"\nietf_headers = true\n");
    EXPECT_EQ(settings.rules, "rules.yaml");
    EXPECT_EQ(settings.rls.counting, RlsSettings::Counting::kAllOrNothing);
    EXPECT_EQ(settings.rls.workspace, "acme");
    EXPECT_TRUE(settings.rls.ietf_headers);
}

}  // namespace
}  // namespace sluice::config
