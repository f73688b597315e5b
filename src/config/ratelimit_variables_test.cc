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

TEST(RatelimitVariables, OfAnXdsServerMakeTheUrlOfTheRules) {
    EXPECT_EQ(loaded_with({{"CONFIG_TYPE", "GRPC_XDS_SOTW"}}).settings.rules,
              "xds://localhost:18000?node=default");
    const Loaded loaded = loaded_with({{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
                                       {"CONFIG_GRPC_XDS_SERVER_URL", "dns:///envoy-gateway:18001"},
                                       {"CONFIG_GRPC_XDS_NODE_ID", "a&b"},
                                       {"CONFIG_GRPC_XDS_SERVER_USE_TLS", "true"},
                                       {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "/certs/ca.crt"},
                                       {"CONFIG_GRPC_XDS_CLIENT_TLS_CERT", "/certs/tls.crt"},
                                       {"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "/certs/tls.key"},
                                       {"CONFIG_GRPC_XDS_SERVER_TLS_SAN", "gateway"},
                                       {"CONFIG_GRPC_XDS_NODE_METADATA", "k=v"}});
    EXPECT_EQ(loaded.settings.rules, "xdss://envoy-gateway:18001?node=a%26b");
    EXPECT_EQ(loaded.origins.at("rules"), "CONFIG_GRPC_XDS_SERVER_URL");
    EXPECT_EQ(loaded.settings.rules_tls,
              (RulesTlsSettings{"/certs/ca.crt", "/certs/tls.crt", "/certs/tls.key", "gateway"}));
    ASSERT_EQ(loaded.warnings.size(), 1U);
    EXPECT_EQ(loaded.warnings.front(),
              "variables of envoyproxy/ratelimit that are ignored: CONFIG_GRPC_XDS_NODE_METADATA");
}

TEST(RatelimitVariables, OfAnXdsServerMeanNothingWithoutTheirType) {
    const Settings settings = loaded_with({{"CONFIG_TYPE", "FILE"},
                                           {"CONFIG_GRPC_XDS_SERVER_URL", "gateway:1"},
                                           {"CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "/certs/ca.crt"}})
                                  .settings;
    EXPECT_EQ(settings.rules, "");
    EXPECT_EQ(settings.rules_tls, RulesTlsSettings{});
}

TEST(RatelimitVariables, OfAnXdsServerAreChecked) {
    EXPECT_EQ(fault_of(with_variable("CONFIG_TYPE", "GRPC")),
              "CONFIG_TYPE is \"GRPC\"; allowed is FILE or GRPC_XDS_SOTW");
    EXPECT_EQ(fault_of(with_variable("CONFIG_GRPC_XDS_SERVER_USE_TLS", "yes")),
              "CONFIG_GRPC_XDS_SERVER_USE_TLS is \"yes\"; allowed is true or false");
    const std::string fault =
        fault_of(load_settings({.file = {},
                                .environment = {{"CONFIG_TYPE", "GRPC_XDS_SOTW"},
                                                {"CONFIG_GRPC_XDS_SERVER_URL", "http://gateway"}},
                                .flags = {},
                                .tokens = {}}));
    EXPECT_EQ(fault.find("CONFIG_GRPC_XDS_SERVER_URL: rules is \"xds://http://gateway\"; allowed"),
              0U)
        << fault;
}

TEST(RulesSettings, AnXdsUrlIsCheckedAndOtherUrlsAreRefused) {
    EXPECT_EQ(settings_of("rules = \"xds://h:1?node=n\"").rules, "xds://h:1?node=n");
    for (const char* const url : {"xds://h?node=n", "xds://h:1", "http://h:1?node=n"}) {
        const std::string fault = fault_of(with_variable("SLUICE_RULES", url));
        EXPECT_NE(fault.find("rules is \"" + std::string(url) + "\"; allowed is the path"),
                  std::string::npos)
            << fault;
    }
}

TEST(RulesSettings, FilesOfTlsNeedAUrlWithTls) {
    EXPECT_NE(fault_of(with_variable("SLUICE_RULES_TLS_CA", "ca.pem"))
                  .find("rules is \"\"; allowed is an xdss:// URL, since rules_tls.ca is set"),
              std::string::npos);
    EXPECT_NE(fault_of(with_variable("SLUICE_RULES_TLS_KEY", "key.pem"))
                  .find("the path of a file, since rules_tls.key is set"),
              std::string::npos);
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
