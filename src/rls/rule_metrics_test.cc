#include "rls/rule_metrics.h"

#include <string>

#include <gtest/gtest.h>

#include "rls/service_fixture.h"

namespace sluice::rls {
namespace {

class RuleMetricsTest : public ServiceFixture {
  protected:
    // The value of a metric with these labels, or "none".
    std::string value(const std::string& name, const std::string& labels) {
        std::string text;
        metrics_.write(text);
        const std::string wanted = "\nratelimit_service_" + name + labels + " ";
        const std::size_t at = text.find(wanted);
        if (at == std::string::npos) return "none";
        const std::size_t begin = at + wanted.size();
        return text.substr(begin, text.find('\n', begin) - begin);
    }
    std::string rule_value(const std::string& name) {
        return value("rate_limit_" + name, R"({domain="web",key1="user"})");
    }
};

TEST_F(RuleMetricsTest, CountHitsWithinNearAndOverTheLimit) {
    load_descriptors({"key: user, rate_limit: {unit: minute, requests_per_unit: 10}"});
    EXPECT_EQ(rule_value("total_hits"), "0") << "a rule has its series before its first hit";
    ask({{{{"user", "a"}}, 7}});
    EXPECT_EQ(rule_value("near_limit"), "0");
    ask({{{{"user", "a"}}, 3}});
    EXPECT_EQ(rule_value("near_limit"), "2") << "those above 8";
    ask({{{{"user", "a"}}, 4}});
    EXPECT_EQ(rule_value("total_hits"), "14");
    EXPECT_EQ(rule_value("within_limit"), "10");
    EXPECT_EQ(rule_value("over_limit"), "4");
    EXPECT_EQ(rule_value("shadow_mode"), "0");
}

TEST_F(RuleMetricsTest, FoldLevelsBelowTheSecondIntoOneLabel) {
    load_descriptors(
        {"key: a, value: x, descriptors: [{key: b, descriptors: [{key: c, value: z, "
         "rate_limit: {unit: minute, requests_per_unit: 7}}]}]"});
    const std::vector<TestDescriptor> deep = {{{{"a", "x"}, {"b", "1"}, {"c", "z"}}}};
    const std::string labels = R"({domain="web",key1="a_x",key2="b.c_z"})";
    for (int i = 0; i < 9; ++i)
        ask(deep);
    EXPECT_EQ(value("rate_limit_total_hits", labels), "9");
    EXPECT_EQ(value("rate_limit_within_limit", labels), "7");
    EXPECT_EQ(value("rate_limit_near_limit", labels), "2") << "those above 5, which is 0.8 of 7";
    EXPECT_EQ(value("rate_limit_over_limit", labels), "2");
}

TEST_F(RuleMetricsTest, CountShadowDenialsApart) {
    load_descriptors({"key: user, shadow_mode: true, rate_limit: {unit: minute}"});
    ask({{{{"user", "a"}}, 4}});
    EXPECT_EQ(rule_value("over_limit"), "4");
    EXPECT_EQ(rule_value("shadow_mode"), "4");
    set_options({.shadow_mode = true});
    load_descriptors({"key: user, rate_limit: {unit: minute}"});
    ask({{{{"user", "a"}}}});
    EXPECT_EQ(value("global_shadow_mode", ""), "1");
}

TEST_F(RuleMetricsTest, SurviveAReload) {
    load_descriptors({"key: user, rate_limit: {unit: minute, requests_per_unit: 10}"});
    ask({{{{"user", "a"}}}});
    load_descriptors({"key: path, rate_limit: {unit: minute}",
                      "key: user, rate_limit: {unit: hour, requests_per_unit: 3}"});
    ask({{{{"user", "a"}}}});
    EXPECT_EQ(rule_value("total_hits"), "2");
}

TEST_F(RuleMetricsTest, NameValuesWhereTheRuleAsksForIt) {
    load_descriptors({"key: user, detailed_metric: true, rate_limit: {unit: minute}"});
    ask({{{{"user", "al\"ice"}}}});
    EXPECT_EQ(value("rate_limit_total_hits", R"({domain="web",key1="user_al\"ice"})"), "1");
    EXPECT_EQ(rule_value("total_hits"), "0");
}

TEST_F(RuleMetricsTest, AreBoundedInNumber) {
    load_descriptors({"key: user, value_to_metric: true, rate_limit: {unit: minute}"});
    for (std::size_t i = 0; i < RuleMetrics::kMaxValueSeries + 5; ++i)
        ask({{{{"user", std::to_string(i)}}}});
    EXPECT_EQ(rule_value("total_hits"), "5") << "those beyond count with their rule";
    std::string text;
    metrics_.write(text);
    EXPECT_NE(text.find("\nratelimit_service_rate_limit_series_folded 5\n"), std::string::npos);

    std::vector<std::string> many;
    for (std::size_t i = 0; i < RuleMetrics::kMaxRuleSeries + 5; ++i)
        many.push_back("key: k" + std::to_string(i) + ", rate_limit: {unit: minute}");
    load_descriptors(many);
    ask({{{{many.back().substr(5, 5), "x"}}}});
    EXPECT_EQ(value("rate_limit_total_hits", R"({domain="other",key1="other"})"), "1");
}

TEST_F(RuleMetricsTest, AreBoundedInBytes) {
    load_descriptors({"key: user, value_to_metric: true, rate_limit: {unit: minute}"});
    ask({{{{"user", std::string(200, 'a')}}}});
    std::string before;
    metrics_.write(before);
    for (const char letter : {'b', 'c', 'd'})
        ask({{{{"user", std::string(100'000, letter)}}}});
    std::string after;
    metrics_.write(after);
    EXPECT_EQ(after.size(), before.size());
    EXPECT_EQ(rule_value("total_hits"), "3") << "long values count with their rule";
    EXPECT_EQ(value("rate_limit_series_folded", ""), "3");
    EXPECT_EQ(value("rate_limit_total_hits",
                    R"({domain="web",key1="user_)" + std::string(200, 'a') + "\"}"),
              "1");
    ask({{{{"any", std::string(100'000, 'e')}}, {}, LimitOverride{5, Unit::kHour}}});
    EXPECT_EQ(value("rate_limit_series_folded", ""), "4") << "a limit of the client has no rule";
}

TEST_F(RuleMetricsTest, ValuesThatDoNotOccurMakeRoom) {
    load_descriptors({"key: user, value_to_metric: true, rate_limit: {unit: minute}"});
    const auto ask_for = [this](const std::string& user, UnixTime now) {
        ask({{{{"user", user}}}}, now);
    };
    const auto hits_of = [this](const std::string& user) {
        return value("rate_limit_total_hits", R"({domain="web",key1="user_)" + user + "\"}");
    };
    for (std::size_t i = 0; i < RuleMetrics::kMaxValueSeries; ++i)
        ask_for(std::to_string(i), kNow);
    const UnixTime later = kNow + RuleMetrics::kIdleTime - std::chrono::minutes{5};
    ask_for("7", later);
    ask_for("new", later);
    EXPECT_EQ(hits_of("new"), "none") << "none is idle";
    ask_for("new", later + std::chrono::minutes{5});
    EXPECT_EQ(hits_of("new"), "1");
    EXPECT_EQ(hits_of("7"), "2");
    EXPECT_EQ(hits_of("8"), "none");
}

TEST_F(RuleMetricsTest, AreUtf8WhateverAValueHolds) {
    load_descriptors({"key: user, value_to_metric: true, rate_limit: {unit: minute}"});
    ask({{{{"user", "a\xFF"}}}});
    ask({{{{"user", "a\xFE"}}}});
    EXPECT_EQ(value("rate_limit_total_hits", "{domain=\"web\",key1=\"user_a\xEF\xBF\xBD\"}"), "2")
        << "two series with the same labels would make the page invalid";
}

TEST_F(RuleMetricsTest, KeepTheSeriesOfAValueWhoseRuleHasNoRoom) {
    load_descriptors({"key: user, value_to_metric: true, rate_limit: {unit: minute}"});
    ask({{{{"user", "x"}}}});
    std::vector<std::string> many;
    for (std::size_t i = 0; i < RuleMetrics::kMaxRuleSeries; ++i)
        many.push_back("key: k" + std::to_string(i) + ", rate_limit: {unit: minute}");
    many.emplace_back("key: user, value: x, rate_limit: {unit: minute}");
    load_descriptors(many);
    EXPECT_EQ(value("rate_limit_total_hits", R"({domain="web",key1="user_x"})"), "1");
}

TEST_F(RuleMetricsTest, AddUpWhatSeveralWritersHaveCounted) {
    load_descriptors({"key: user, rate_limit: {unit: minute, requests_per_unit: 10}"});
    RuleSeries& series = *current_.get()->series.front();
    const CountedHits hits{
        .hits = 1, .limit = 10, .remaining = 9, .is_over = false, .is_shadowed = false};
    for (int i = 0; i < 3; ++i) {
        RuleWriter first(metrics_);
        RuleWriter second(metrics_);
        first.count(series, hits);
        second.count(series, hits);
        second.note_error();
    }
    metrics_.write_shared([&](RuleWriter& writer) { writer.count(series, hits); });
    EXPECT_EQ(rule_value("total_hits"), "7") << "also of writers that are gone";
    EXPECT_EQ(value("should_rate_limit_error", ""), "3");
}

TEST_F(RuleMetricsTest, CountLoadsAndErrors) {
    metrics_.note_load(true);
    metrics_.note_load(false);
    metrics_.note_load(false);
    call(RateLimitRequest{});
    EXPECT_EQ(value("config_load_success", ""), "1");
    EXPECT_EQ(value("config_load_error", ""), "2");
    EXPECT_EQ(value("should_rate_limit_error", ""), "1");
}

}  // namespace
}  // namespace sluice::rls
