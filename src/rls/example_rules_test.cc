// Rule files like those that envoyproxy/ratelimit documents, and the answers that it gives.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rls/service_fixture.h"

namespace sluice::rls {
namespace {

class ExampleRules : public ServiceFixture {
  protected:
    // How many of `count` requests with the same descriptors pass.
    int passes(int count, const std::vector<TestDescriptor>& descriptors) {
        int passed = 0;
        for (int i = 0; i < count; ++i)
            passed += ask(descriptors).overall_code == Code::kOk ? 1 : 0;
        return passed;
    }

    std::string metrics() const {
        std::string text;
        metrics_.write(text);
        return text;
    }
};

TEST_F(ExampleRules, HeadersOfAnEdge) {
    load(R"(---
domain: web
descriptors:
  - key: from_cluster
    value: edge
    descriptors:
      - key: to_cluster
        value: shop
        rate_limit:
          unit: minute
          requests_per_unit: 1
  - key: header
    rate_limit:
      unit: minute
      requests_per_unit: 2
    descriptors:
      - key: second
        rate_limit:
          unit: minute
          requests_per_unit: 3
      - key: second
        value: refused
        rate_limit:
          unit: minute
          requests_per_unit: 0
      - key: third
        rate_limit:
          unit: second
          requests_per_unit: 1
      - key: third
        value: tried
        rate_limit:
          unit: minute
          requests_per_unit: 1
        shadow_mode: true
      - key: fourth
        rate_limit:
          unlimited: true
  - key: free
    rate_limit:
      unlimited: true
)");
    EXPECT_EQ(passes(3, {{{{"from_cluster", "edge"}, {"to_cluster", "shop"}}}}), 1);
    EXPECT_EQ(passes(3, {{{{"from_cluster", "edge"}}}}), 3) << "no limit at this level";
    EXPECT_EQ(passes(3, {{{{"header", "a"}}}}), 2);
    EXPECT_EQ(passes(5, {{{{"header", "a"}, {"second", "x"}}}}), 3);
    EXPECT_EQ(passes(5, {{{{"header", "a"}, {"second", "y"}}}}), 3) << "each value by itself";
    EXPECT_EQ(passes(1, {{{{"header", "b"}, {"second", "refused"}}}}), 0);
    EXPECT_EQ(passes(3, {{{{"header", "a"}, {"third", "x"}}}}), 1);
    EXPECT_EQ(passes(3, {{{{"header", "a"}, {"third", "tried"}}}}), 3);
    EXPECT_EQ(passes(9, {{{{"header", "a"}, {"fourth", "x"}}}, {{{"free", "x"}}}}), 9);
    EXPECT_EQ(passes(5, {{{{"header", "c"}}}, {{{"header", "c"}, {"second", "x"}}}}), 2)
        << "of two limits the smaller one";
    EXPECT_NE(metrics().find("ratelimit_service_rate_limit_shadow_mode{domain=\"web\",key1="
                             "\"header\",key2=\"third_tried\"} 2\n"),
              std::string::npos);
}

TEST_F(ExampleRules, AnAggregateLimitBesideANestedOne) {
    load_descriptors(
        {"key: kind, value: advert, descriptors: [{key: to, rate_limit: "
         "{unit: day, requests_per_unit: 2}}]",
         "key: to, rate_limit: {unit: day, requests_per_unit: 5}"});
    const TestDescriptor advert{{{"kind", "advert"}, {"to", "555"}}};
    const TestDescriptor all{{{"to", "555"}}};
    EXPECT_EQ(passes(3, {advert, all}), 2);
    EXPECT_EQ(codes(ask({advert, all})), "OVER,OK=OVER");
    EXPECT_EQ(passes(3, {all}), 1) << "each of the 4 counted for both";
    EXPECT_EQ(passes(3, {{{{"kind", "bill"}, {"to", "555"}}}}), 3) << "no rule";
}

TEST_F(ExampleRules, ABannedAddress) {
    load_descriptors({"key: remote_address, rate_limit: {unit: second, requests_per_unit: 10}",
                      "key: remote_address, value: 192.0.2.5, rate_limit: {unit: second, "
                      "requests_per_unit: 0}"});
    EXPECT_EQ(passes(15, {{{{"remote_address", "192.0.2.1"}}}}), 10);
    EXPECT_EQ(passes(15, {{{{"remote_address", "192.0.2.5"}}}}), 0);
}

TEST_F(ExampleRules, AValueWithoutALimitIsExempt) {
    load_descriptors({"key: user, rate_limit: {unit: minute, requests_per_unit: 1}",
                      "key: user, value: monitor"});
    EXPECT_EQ(passes(3, {{{{"user", "ann"}}}}), 1);
    EXPECT_EQ(passes(3, {{{{"user", "monitor"}}}}), 3);
}

TEST_F(ExampleRules, AShadowedUserOfAService) {
    load_descriptors(
        {"key: service, descriptors: ["
         "{key: user, value: a, shadow_mode: true, rate_limit: {requests_per_unit: 1, "
         "unit: second}}, "
         "{key: user, value: b, rate_limit: {requests_per_unit: 2, unit: second}}]"});
    EXPECT_EQ(passes(5, {{{{"service", "auth"}, {"user", "a"}}}}), 5);
    EXPECT_EQ(passes(5, {{{{"service", "auth"}, {"user", "b"}}}}), 2);
    EXPECT_EQ(passes(5, {{{{"service", "mail"}, {"user", "b"}}}}), 2) << "another count";
}

TEST_F(ExampleRules, ALimitThatReplacesAnother) {
    load_descriptors(
        {"key: group, value: read, descriptors: [{key: user, value: ann, rate_limit: "
         "{name: reads, requests_per_unit: 2, unit: second}}]",
         "key: path, value: /list, descriptors: [{key: user, value: ann, rate_limit: "
         "{replaces: [{name: reads}], requests_per_unit: 4, unit: second}}]"});
    const TestDescriptor group{{{"group", "read"}, {"user", "ann"}}};
    const TestDescriptor path{{{"path", "/list"}, {"user", "ann"}}};
    EXPECT_EQ(passes(6, {group, path}), 4);
    EXPECT_EQ(passes(6, {group}), 2) << "nothing was counted for it before";
    EXPECT_EQ(passes(6, {path}), 0);
}

TEST_F(ExampleRules, MetricsByValue) {
    load_descriptors(
        {"key: a, detailed_metric: true, rate_limit: {unit: minute, "
         "requests_per_unit: 1}",
         "key: a, value: known, rate_limit: {unit: minute, requests_per_unit: 2}"});
    EXPECT_EQ(passes(3, {{{{"a", "x"}}}}), 1);
    EXPECT_EQ(passes(3, {{{{"a", "y"}}}}), 1);
    EXPECT_EQ(passes(3, {{{{"a", "known"}}}}), 2);
    const std::string text = metrics();
    for (const char* key : {"a_x", "a_y", "a_known"})
        EXPECT_NE(text.find("total_hits{domain=\"web\",key1=\"" + std::string(key) + "\"} 3\n"),
                  std::string::npos)
            << key;
}

TEST_F(ExampleRules, Wildcards) {
    load_descriptors(
        {"key: path, value: \"/api*v1\", rate_limit: {unit: minute, "
         "requests_per_unit: 1}",
         "key: file, value: \"img/*\", share_threshold: true, rate_limit: "
         "{unit: minute, requests_per_unit: 3}",
         "key: file, value: img/logo, rate_limit: {unit: minute, "
         "requests_per_unit: 1}",
         "key: tenant, value: \"t*\", share_threshold: true, descriptors: "
         "[{key: user, value: \"u*\", descriptors: [{key: act, rate_limit: "
         "{unit: minute, requests_per_unit: 2}}]}]"});
    EXPECT_EQ(passes(3, {{{{"path", "/api/a/v1"}}}}), 1);
    EXPECT_EQ(passes(3, {{{{"path", "/api/b/v1"}}}}), 1) << "each value by itself";
    EXPECT_EQ(passes(2, {{{{"file", "img/a"}}}}), 2);
    EXPECT_EQ(passes(2, {{{{"file", "img/b"}}}}), 1) << "one count for all values";
    EXPECT_EQ(passes(2, {{{{"file", "img/logo"}}}}), 1) << "the exact value comes first";
    EXPECT_EQ(passes(2, {{{{"tenant", "t1"}, {"user", "u1"}, {"act", "x"}}}}), 2);
    EXPECT_EQ(passes(2, {{{{"tenant", "t2"}, {"user", "u1"}, {"act", "x"}}}}), 0);
    EXPECT_EQ(passes(2, {{{{"tenant", "t2"}, {"user", "u2"}, {"act", "x"}}}}), 2);
}

TEST_F(ExampleRules, QuotasOfTwoServices) {
    load_descriptors(
        {"key: service, value: a, quota_mode: true, rate_limit: {unit: minute, "
         "requests_per_unit: 1}",
         "key: service, value: b, quota_mode: true, rate_limit: {unit: minute, "
         "requests_per_unit: 2}"});
    EXPECT_EQ(passes(5, {{{{"service", "a"}}}, {{{"service", "b"}}}}), 2)
        << "as long as one of them has room";
    EXPECT_EQ(passes(1, {{{{"service", "a"}}}}), 0);
}

}  // namespace
}  // namespace sluice::rls
