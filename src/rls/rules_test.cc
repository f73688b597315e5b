#include "rls/rules.h"

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rls/identifier.h"
#include "rls/rule_file.h"

namespace sluice::rls {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const RuleSet> rules_of(const std::string& yaml) {
    RuleBudget budget;
    auto config = parse_rules(yaml, "a.yaml", budget);
    EXPECT_TRUE(config) << (config ? "" : config.error().message);
    if (!config) return RuleSet::none();
    auto rules = RuleSet::build({*std::move(config)}, SameDomain::kRefuse);
    EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
    return rules ? *rules : RuleSet::none();
}

// The limit of a descriptor in domain `web`, or -1.
std::int64_t limit_of(const RuleSet& rules, const std::vector<DescriptorEntry>& entries) {
    std::string identifier;
    const LimitRule* const rule = rules.match("web", entries, identifier);
    return rule == nullptr ? -1 : std::int64_t{rule->requests_per_unit};
}

// A descriptor list at one indentation.
std::string limit(const std::string& indent, const std::string& number) {
    return indent + "rate_limit: {unit: minute, requests_per_unit: " + number + "}\n";
}

TEST(Rules, AValueComesBeforeAWildcardBeforeTheKeyAlone) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: path\n" +
        limit("    ", "1") + "  - key: path\n    value: /a*\n" + limit("    ", "2") +
        "  - key: path\n    value: /a\n" + limit("    ", "3") + "  - key: path\n    value: /ab*\n" +
        limit("    ", "4"));
    EXPECT_EQ(limit_of(*rules, {{"path", "/a"}}), 3);
    EXPECT_EQ(limit_of(*rules, {{"path", "/abc"}}), 2) << "the first wildcard of the file";
    EXPECT_EQ(limit_of(*rules, {{"path", "/b"}}), 1);
    EXPECT_EQ(limit_of(*rules, {{"path", ""}}), 1);
    EXPECT_EQ(limit_of(*rules, {{"Path", "/a"}}), -1);
}

TEST(Rules, AMatchLeavesNoLargeBuffer) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: token\n    descriptors:\n      - key: path\n" +
        limit("        ", "1"));
    const std::string token(100'000, '%');
    const std::vector<DescriptorEntry> entries = {{"token", token}, {"path", "/"}};
    std::string identifier;
    EXPECT_NE(rules->match("web", entries, identifier), nullptr);
    EXPECT_LE(identifier.capacity(), 2 * kMaxIdentifierBytes);
    EXPECT_EQ(rules->match("web", std::span(entries).first(1), identifier), nullptr);
    EXPECT_LE(identifier.capacity(), 2 * kMaxIdentifierBytes) << "without a rule either";
}

TEST(Rules, WildcardsMayStandAnywhere) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: host\n    value: \"*.example.org\"\n" +
        limit("    ", "1") + "  - key: host\n    value: api-*-eu*\n" + limit("    ", "2"));
    EXPECT_EQ(limit_of(*rules, {{"host", "www.example.org"}}), 1);
    EXPECT_EQ(limit_of(*rules, {{"host", "api-7-eu-west"}}), 2);
    EXPECT_EQ(limit_of(*rules, {{"host", "example.org"}}), -1);
}

TEST(Rules, ARuleAppliesOnlyAtItsDepth) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: type\n    value: marketing\n" +
        limit("    ", "9") +
        "    descriptors:\n"
        "      - key: to\n" +
        limit("        ", "5"));
    EXPECT_EQ(limit_of(*rules, {{"type", "marketing"}}), 9);
    EXPECT_EQ(limit_of(*rules, {{"type", "marketing"}, {"to", "1"}}), 5);
    EXPECT_EQ(limit_of(*rules, {{"type", "marketing"}, {"to", "1"}, {"x", "y"}}), -1);
    EXPECT_EQ(limit_of(*rules, {{"to", "1"}}), -1);
    EXPECT_EQ(limit_of(*rules, {}), -1);
}

TEST(Rules, MatchingDoesNotGoBack) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: user\n    value: alice\n"
        "  - key: user\n    descriptors:\n"
        "      - key: path\n" +
        limit("        ", "5"));
    EXPECT_EQ(limit_of(*rules, {{"user", "bob"}, {"path", "/"}}), 5);
    EXPECT_EQ(limit_of(*rules, {{"user", "alice"}, {"path", "/"}}), -1);
}

TEST(Rules, KeysAndValuesAreNotJoined) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: x\n    value: y_z\n" +
        limit("    ", "1") + "  - key: x_y\n    value: z\n" + limit("    ", "2"));
    EXPECT_EQ(limit_of(*rules, {{"x", "y_z"}}), 1);
    EXPECT_EQ(limit_of(*rules, {{"x_y", "z"}}), 2);
}

TEST(Rules, OfAnUnknownDomainOrNoneLoadedMatchNothing) {
    const auto rules = rules_of("domain: web\ndescriptors:\n  - key: a\n" + limit("    ", "1"));
    std::string identifier;
    const std::vector<DescriptorEntry> entries{{"a", "1"}};
    EXPECT_EQ(rules->match("mail", entries, identifier), nullptr);
    EXPECT_NE(rules->match("web", entries, identifier), nullptr);
    EXPECT_TRUE(rules->has_domain("web"));
    EXPECT_FALSE(rules->has_domain("mail"));
    EXPECT_FALSE(RuleSet::none()->is_loaded());
    EXPECT_EQ(RuleSet::none()->match("web", entries, identifier), nullptr);
}

TEST(Rules, AWildcardMayShareOneCount) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: path\n    value: /files/*\n    share_threshold: true\n"
        "    descriptors:\n      - key: user\n" +
        limit("        ", "5") + "  - key: path\n    value: /own/*\n" + limit("    ", "6"));
    std::string identifier;
    ASSERT_TRUE(rules->match(
        "web", std::vector<DescriptorEntry>{{"path", "/files/a"}, {"user", "u"}}, identifier));
    EXPECT_EQ(identifier, "path=/files/*,user=u");
    ASSERT_TRUE(rules->match("web", std::vector<DescriptorEntry>{{"path", "/own/a"}}, identifier));
    EXPECT_EQ(identifier, "path=/own/a");
}

TEST(Rules, HaveLabelsByLevel) {
    const auto rules = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: a\n    value: x\n    descriptors:\n"
        "      - key: b\n        descriptors:\n"
        "          - key: c\n            value: y*\n" +
        limit("            ", "1"));
    EXPECT_EQ(rules->rules().front().full_key, "web.a_x.b.c_y*");
    EXPECT_EQ(rules->rules().front().labels,
              (MetricLabels{.domain = "web", .key1 = "a_x", .key2 = "b.c_y*"}));
    EXPECT_EQ(rules->rules().front().location, "a.yaml:8");
    EXPECT_FALSE(rules->rules().front().has_metrics_by_value);
}

MetricLabels labels_of(const RuleSet& rules, const std::vector<DescriptorEntry>& entries) {
    std::string identifier;
    const LimitRule* const rule = rules.match("web", entries, identifier);
    EXPECT_NE(rule, nullptr);
    MetricLabels labels;
    if (rule != nullptr) rules.write_labels(*rule, "web", entries, labels);
    return labels;
}

TEST(Rules, LabelsMayNameTheValuesOfARequest) {
    const std::string nested = "    descriptors:\n      - key: b\n" + limit("        ", "1");
    const auto by_value = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: a\n    value_to_metric: true\n" +
        nested);
    EXPECT_TRUE(by_value->rules().front().has_metrics_by_value);
    EXPECT_EQ(labels_of(*by_value, {{"a", "1"}, {"b", "2"}}), (MetricLabels{"web", "a_1", "b"}));

    const auto detailed = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: a\n" +
        nested + "        detailed_metric: true\n");
    EXPECT_EQ(labels_of(*detailed, {{"a", "1"}, {"b", "2"}}), (MetricLabels{"web", "a_1", "b_2"}));

    const auto shared = rules_of(
        "domain: web\ndescriptors:\n"
        "  - key: a\n    value: x*\n    share_threshold: true\n"
        "    value_to_metric: true\n" +
        nested);
    EXPECT_EQ(labels_of(*shared, {{"a", "x1"}, {"b", "2"}}), (MetricLabels{"web", "a_x*", "b"}));
}

TEST(Rules, OfSeveralFilesAreOneSet) {
    DomainConfig web{.source = "a.yaml", .domain = "web", .line = 1};
    DomainConfig mail{.source = "b.yaml", .domain = "mail", .line = 1};
    const auto rules = RuleSet::build({web, mail}, SameDomain::kRefuse);
    ASSERT_TRUE(rules);
    EXPECT_TRUE((*rules)->has_domain("web"));
    EXPECT_TRUE((*rules)->has_domain("mail"));

    mail.domain = "web";
    const auto twice = RuleSet::build({web, mail}, SameDomain::kRefuse);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().message,
              "b.yaml:1: duplicate domain 'web' in config file; allowed: one file for each domain, "
              "or the setting rls.merge_domains");
    web.descriptors = {{.key = "a", .rate_limit = LimitConfig{.unit = "day"}, .line = 3}};
    mail.descriptors = {{.key = "b", .rate_limit = LimitConfig{.unit = "day"}, .line = 3}};
    const auto merged = RuleSet::build({web, mail}, SameDomain::kMerge);
    ASSERT_TRUE(merged);
    EXPECT_EQ(limit_of(**merged, {{"a", ""}}), 0);
    EXPECT_EQ(limit_of(**merged, {{"b", ""}}), 0);

    mail.descriptors = web.descriptors;
    const auto clash = RuleSet::build({web, mail}, SameDomain::kMerge);
    ASSERT_FALSE(clash);
    EXPECT_EQ(clash.error().message.substr(0, 60),
              "b.yaml:3: duplicate descriptor composite key 'web.a'; allowe");
}

}  // namespace
}  // namespace sluice::rls
