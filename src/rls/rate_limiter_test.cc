#include "rls/rate_limiter.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rls/service_fixture.h"

namespace sluice::rls {
namespace {

using namespace std::chrono_literals;

class RateLimiterTest : public ServiceFixture {};

constexpr const char* kTwoPerMinute =
    "key: user, rate_limit: {unit: minute, requests_per_unit: 2, name: users}";

TEST_F(RateLimiterTest, AnswersWithLimitRemainingAndReset) {
    load_descriptors({kTwoPerMinute});
    const RateLimitResponse first = ask({{{{"user", "alice"}}}}, kNow + 20'500ms);
    EXPECT_EQ(codes(first), "OK=OK");
    EXPECT_EQ(first.statuses.at(0),
              (DescriptorStatus{.code = Code::kOk,
                                .current_limit = CurrentLimit{2, Unit::kMinute, "users"},
                                .limit_remaining = 1,
                                .duration_until_reset = 40s}));
    EXPECT_TRUE(first.response_headers_to_add.empty());
    EXPECT_FALSE(first.dynamic_metadata);
    ask({{{{"user", "alice"}}}}, kNow + 20'500ms);
    const RateLimitResponse third = ask({{{{"user", "alice"}}}}, kNow + 20'500ms);
    EXPECT_EQ(codes(third), "OVER=OVER");
    EXPECT_EQ(third.statuses.at(0).limit_remaining, 0U);
    EXPECT_EQ(third.statuses.at(0).duration_until_reset, 40s);
    EXPECT_EQ(codes(ask({{{{"user", "bob"}}}})), "OK=OK");
}

TEST_F(RateLimiterTest, RefusesWhatEnvoyproxyRatelimitRefuses) {
    const auto error_of = [this](const RateLimitRequest& request) {
        const Answer answer = call(request);
        return answer.error ? answer.error->message : "no error";
    };
    RateLimitRequest request;
    EXPECT_EQ(error_of(request), "rate limit domain must not be empty");
    request.domain = "web";
    EXPECT_EQ(error_of(request), "rate limit descriptor list must not be empty");
    request.descriptors.resize(1);
    EXPECT_EQ(error_of(request), "no rate limit configuration loaded");
    load("domain: mail");
    EXPECT_EQ(error_of(request), "no error");
}

TEST_F(RateLimiterTest, WithoutARuleItIsOkWithoutALimit) {
    load_descriptors({kTwoPerMinute});
    const RateLimitResponse response = ask({{{{"path", "/"}}}, {{}}});
    EXPECT_EQ(codes(response), "OK,OK=OK");
    EXPECT_EQ(response.statuses.at(0), DescriptorStatus{});
}

TEST_F(RateLimiterTest, UnlimitedHasTheLargestRemainder) {
    load_descriptors({"key: user, rate_limit: {unlimited: true}"});
    EXPECT_EQ(ask({{{{"user", "alice"}}}}).statuses.at(0),
              DescriptorStatus{.limit_remaining = 4'294'967'295U});
}

TEST_F(RateLimiterTest, HitsAreTheDescriptorsElseTheRequestsElseOne) {
    load_descriptors({"key: user, rate_limit: {unit: hour, requests_per_unit: 100}"});
    EXPECT_EQ(ask({{{{"user", "a"}}}}).statuses.at(0).limit_remaining, 99U);
    request_for({{{{"user", "a"}}}, {{{"user", "a"}}, 20}});
    request_.hits_addend = 5;
    const Answer answer = call(request_);
    EXPECT_EQ(answer.response.statuses.at(0).limit_remaining, 94U);
    EXPECT_EQ(answer.response.statuses.at(1).limit_remaining, 74U);
    EXPECT_EQ(ask({{{{"user", "a"}}, 0}}).statuses.at(0).limit_remaining, 74U) << "a check";
    EXPECT_EQ(ask({{{{"user", "a"}}, 7, {}, true}}).statuses.at(0).limit_remaining, 74U)
        << "negative hits refund nothing";
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 18'446'744'073'709'551'613U}})), "OVER=OVER")
        << "and large ones do not wrap";
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 0}})), "OVER=OVER");
}

TEST_F(RateLimiterTest, ACheckOfAFullLimitIsOkUntilOneWasDenied) {
    load_descriptors({kTwoPerMinute});
    ask({{{{"user", "a"}}, 2}});
    const RateLimitResponse full = ask({{{{"user", "a"}}, 0}});
    EXPECT_EQ(codes(full), "OK=OK");
    EXPECT_EQ(full.statuses.at(0).limit_remaining, 0U);
    EXPECT_EQ(codes(ask({{{{"user", "a"}}}})), "OVER=OVER");
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 0}})), "OVER=OVER");

    load_descriptors({"key: none, rate_limit: {unit: minute}"});
    EXPECT_EQ(codes(ask({{{{"none", "a"}}, 0}})), "OVER=OVER") << "a limit of 0 denies always";
    EXPECT_EQ(codes(ask({{{{"none", "a"}}}})), "OVER=OVER");
    EXPECT_EQ(codes(ask({{{{"none", "b"}}, 0}}, kNow + 59s)), "OVER=OVER");
}

TEST_F(RateLimiterTest, DeniedHitsAreDebitedUnlessTheRuleSaysOtherwise) {
    load_descriptors(
        {"key: tokens, rate_limit: {unit: hour, requests_per_unit: 100}",
         "key: free, rate_limit: {unit: hour, requests_per_unit: 100, count_denied: no}"});
    // As Envoy does it with apply_on_stream_done: ask with 0 hits, debit afterwards.
    ask({{{{"tokens", "a"}}, 0}});
    const RateLimitResponse debit = ask({{{{"tokens", "a"}}, 500}});
    EXPECT_EQ(codes(debit), "OVER=OVER");
    EXPECT_EQ(debit.statuses.at(0).limit_remaining, 0U);
    EXPECT_EQ(codes(ask({{{{"tokens", "a"}}, 0}})), "OVER=OVER") << "the limit bites";
    ask({{{{"free", "a"}}, 500}});
    EXPECT_EQ(codes(ask({{{{"free", "a"}}, 0}})), "OK=OK");
}

TEST_F(RateLimiterTest, LongValuesThatDifferAtTheEndAreCountedApart) {
    load_descriptors({"key: token, rate_limit: {unit: minute, requests_per_unit: 1}"});
    const std::string token(4'000, 't');
    EXPECT_EQ(codes(ask({{{{"token", token + "1"}}}})), "OK=OK");
    EXPECT_EQ(codes(ask({{{{"token", token + "2"}}}})), "OK=OK");
    EXPECT_EQ(codes(ask({{{{"token", token + "1"}}}})), "OVER=OVER");
}

TEST_F(RateLimiterTest, KeysAndValuesThatAreEqualWhenJoinedAreCountedApart) {
    load_descriptors({"key: x, rate_limit: {unit: minute, requests_per_unit: 1}",
                      "key: x_y, rate_limit: {unit: minute, requests_per_unit: 1}"});
    EXPECT_EQ(codes(ask({{{{"x", "y_z"}}}})), "OK=OK");
    EXPECT_EQ(codes(ask({{{{"x_y", "z"}}}})), "OK=OK");
    EXPECT_EQ(codes(ask({{{{"x", "y_z"}}}})), "OVER=OVER");
}

TEST_F(RateLimiterTest, AMonthIs30DaysAndAYear365) {
    load_descriptors({"key: m, rate_limit: {unit: month, requests_per_unit: 1}",
                      "key: y, rate_limit: {unit: year, requests_per_unit: 1}"});
    const std::vector<TestDescriptor> both = {{{{"m", ""}}}, {{{"y", ""}}}};
    const auto first = ask(both);
    const auto since = kNow.time_since_epoch();
    const auto reset_of = [&](std::size_t i) { return first.statuses.at(i).duration_until_reset; };
    EXPECT_EQ(reset_of(0), std::chrono::ceil<std::chrono::seconds>(30 * 24h - since % (30 * 24h)));
    EXPECT_EQ(reset_of(1),
              std::chrono::ceil<std::chrono::seconds>(365 * 24h - since % (365 * 24h)));
    EXPECT_EQ(first.statuses.at(0).current_limit, (CurrentLimit{1, Unit::kMonth}));
    EXPECT_EQ(first.statuses.at(1).current_limit, (CurrentLimit{1, Unit::kYear}));
    EXPECT_EQ(codes(ask(both, kNow + 24h)), "OVER,OVER=OVER");
    EXPECT_EQ(codes(ask(both, kNow + 61 * 24h)), "OK,OVER=OVER");
}

TEST_F(RateLimiterTest, EachDescriptorCountsByItself) {
    load_descriptors(
        {kTwoPerMinute, "key: path, rate_limit: {unit: minute, requests_per_unit: 5}"});
    const std::vector<TestDescriptor> both = {{{{"user", "a"}}}, {{{"path", "/"}}}};
    ask(both);
    ask(both);
    EXPECT_EQ(codes(ask(both)), "OVER,OK=OVER");
    EXPECT_EQ(ask({{{{"path", "/"}}, 0}}).statuses.at(0).limit_remaining, 2U);
}

TEST_F(RateLimiterTest, OrAllOrNothing) {
    set_options({.counting = Counting::kAllOrNothing});
    load_descriptors({kTwoPerMinute,
                      "key: path, rate_limit: {unit: minute, requests_per_unit: 5}",
                      "key: dark, shadow_mode: true, rate_limit: {unit: minute}"});
    const std::vector<TestDescriptor> all = {
        {{{"user", "a"}}}, {{{"path", "/"}}}, {{{"dark", "1"}}}};
    ask(all);
    EXPECT_EQ(codes(ask(all)), "OK,OK,OK=OK") << "a rule in shadow mode does not deny the others";
    EXPECT_EQ(codes(ask(all)), "OVER,OK,OK=OVER");
    EXPECT_EQ(ask({{{{"path", "/"}}, 0}}).statuses.at(0).limit_remaining, 3U);
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 0}})), "OK=OK") << "nor was the denied one counted";
}

// What the page shows as spent is what was added to the counts.
TEST_F(RateLimiterTest, RecordsWhatWasSpent) {
    insight::Recorder recorder(KeyHash(1));
    const auto spend_of = [&](const std::vector<TestDescriptor>& descriptors) {
        ServiceParts parts = this->parts();
        parts.recorder = &recorder;
        service_.emplace(parts);
        ask(descriptors);
        return recorder.exchange(std::make_unique<insight::Batch>())->total.spend;
    };
    load_descriptors({kTwoPerMinute,
                      "key: path, rate_limit: {unit: minute, requests_per_unit: 5}",
                      "key: free, rate_limit: {unit: minute, count_denied: no}"});
    EXPECT_EQ(spend_of({{{{"user", "a"}}, 2}}), 2U);
    EXPECT_EQ(spend_of({{{{"user", "a"}}, 7}}), 7U) << "denied and debited";
    EXPECT_EQ(spend_of({{{{"free", "a"}}, 7}}), 0U);
    set_options({.counting = Counting::kAllOrNothing});
    EXPECT_EQ(spend_of({{{{"user", "a"}}}, {{{"path", "/"}}}}), 0U)
        << "a batch spends all or nothing";
    EXPECT_EQ(spend_of({{{{"user", "b"}}}, {{{"path", "/"}}}}), 2U);
}

TEST_F(RateLimiterTest, ShadowModeIsOkWithNothingLeft) {
    load_descriptors(
        {"key: user, shadow_mode: true, "
         "rate_limit: {unit: minute, requests_per_unit: 1}"});
    ask({{{{"user", "a"}}}});
    const RateLimitResponse over = ask({{{{"user", "a"}}}});
    EXPECT_EQ(codes(over), "OK=OK");
    EXPECT_EQ(over.statuses.at(0).limit_remaining, 0U);
    const LimitOverride own{1, Unit::kMinute};
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, {}, own}})), "OVER=OVER")
        << "a limit of the client is not in shadow mode";
}

TEST_F(RateLimiterTest, GlobalShadowModeChangesTheOverallCodeAlone) {
    set_options({.shadow_mode = true});
    load_descriptors({"key: user, rate_limit: {unit: minute}"});
    EXPECT_EQ(codes(ask({{{{"user", "a"}}}})), "OVER=OK");
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, {}, LimitOverride{0, Unit::kDay}}})), "OVER=OK");
}

TEST_F(RateLimiterTest, QuotasDenyWhenAllAreExhausted) {
    load_descriptors({"key: a, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}",
                      "key: b, quota_mode: true, rate_limit: {unit: minute, requests_per_unit: 2}",
                      "key: c, rate_limit: {unit: minute, requests_per_unit: 9}"});
    const std::vector<TestDescriptor> all = {{{{"a", "1"}}}, {{{"b", "1"}}}, {{{"c", "1"}}}};
    EXPECT_EQ(codes(ask(all)), "OK,OK,OK=OK");
    EXPECT_EQ(codes(ask(all)), "OVER,OK,OK=OK");
    EXPECT_EQ(codes(ask(all)), "OVER,OVER,OK=OVER");
    EXPECT_EQ(codes(ask({{{{"a", "1"}}}, {{{"c", "1"}}}})), "OVER,OK=OVER")
        << "a lone exhausted quota denies beside a limit with room";
}

TEST_F(RateLimiterTest, UnderGlobalQuotaModeAnUnmatchedDescriptorHasRoom) {
    set_options({.quota_mode = true});
    load_descriptors({"key: a, rate_limit: {unit: minute}"});
    EXPECT_EQ(codes(ask({{{{"a", "1"}}}})), "OVER=OVER");
    EXPECT_EQ(codes(ask({{{{"a", "1"}}}, {{{"x", "1"}}}})), "OVER,OK=OK");
}

TEST_F(RateLimiterTest, ARuleReplacesOthersByName) {
    load_descriptors(
        {kTwoPerMinute,
         "key: plan, value: pro, rate_limit: {unlimited: true, replaces: [{name: users}]}",
         "key: plan, rate_limit: {unit: minute, requests_per_unit: 9}"});
    for (int i = 0; i < 5; ++i) {
        const auto response = ask({{{{"user", "a"}}}, {{{"plan", "pro"}}}});
        ASSERT_EQ(codes(response), "OK,OK=OK");
        ASSERT_EQ(response.statuses.at(0), DescriptorStatus{}) << "as without a rule";
    }
    EXPECT_EQ(ask({{{{"user", "a"}}}, {{{"plan", "free"}}}}).statuses.at(0).limit_remaining, 1U)
        << "nothing was counted for the replaced rule";
}

TEST_F(RateLimiterTest, ALimitOfTheClientNeedsAKnownDomain) {
    load_descriptors({kTwoPerMinute});
    const LimitOverride own{5, Unit::kHour};
    const RateLimitResponse response = ask({{{{"any", "thing"}}, {}, own}});
    EXPECT_EQ(response.statuses.at(0).current_limit, (CurrentLimit{5, Unit::kHour}));
    EXPECT_EQ(response.statuses.at(0).limit_remaining, 4U);
    request_for({{{{"any", "thing"}}, {}, own}}).domain = "unknown";
    EXPECT_EQ(call(request_).response.statuses.at(0), DescriptorStatus{});
    const Answer wrong = call(request_for({{{{"any", "thing"}}, {}, LimitOverride{5, Unit{0}}}}));
    ASSERT_TRUE(wrong.error);
    EXPECT_EQ(wrong.error->message,
              "the limit of a descriptor has the unit 0; allowed: 1 to 7 (second, minute, hour, "
              "day, month, year, week)");
}

TEST_F(RateLimiterTest, OverridesApplyToIdentifiers) {
    load_descriptors({kTwoPerMinute});
    ASSERT_TRUE(
        overrides_->set({"default", "web", "user=alice"}, {.limit = 10, .duration = 3600s}));
    ASSERT_TRUE(
        overrides_->set({"default", "web", "user=b*"}, {.limit = 10'000'000'000, .duration = 90s}));
    const RateLimitResponse alice = ask({{{{"user", "alice"}}}});
    EXPECT_EQ(alice.statuses.at(0).current_limit, (CurrentLimit{10, Unit::kHour, "users"}));
    EXPECT_EQ(alice.statuses.at(0).limit_remaining, 9U);
    const RateLimitResponse bob = ask({{{{"user", "bob"}}}});
    EXPECT_EQ(bob.statuses.at(0).current_limit,
              (CurrentLimit{4'294'967'295U, Unit::kUnknown, "users"}));
    EXPECT_EQ(bob.statuses.at(0).limit_remaining, 4'294'967'295U);
}

TEST_F(RateLimiterTest, CountsSurviveAReload) {
    load_descriptors({kTwoPerMinute});
    ask({{{{"user", "a"}}, 2}});
    load_descriptors({"key: user, rate_limit: {unit: minute, requests_per_unit: 5}"});
    EXPECT_EQ(ask({{{{"user", "a"}}}}).statuses.at(0).limit_remaining, 2U);
}

TEST_F(RateLimiterTest, HeadersDescribeTheLimitWithLeastLeft) {
    set_options({.response_headers = LimitHeaders{},
                 .request_headers = LimitHeaders{"x-l", "x-r", "x-t"},
                 .ietf_headers = true});
    load_descriptors({"key: a, rate_limit: {unit: hour, requests_per_unit: 9}",
                      "key: b, rate_limit: {unit: minute, requests_per_unit: 5}"});
    const RateLimitResponse response = ask({{{{"a", "1"}}}, {{{"b", "1"}}}}, kNow + 15s);
    EXPECT_EQ(response.response_headers_to_add,
              (std::vector<HeaderValue>{{"RateLimit-Limit", "5"},
                                        {"RateLimit-Remaining", "4"},
                                        {"RateLimit-Reset", "45"},
                                        {"RateLimit-Policy", "\"default\";q=5;w=60"},
                                        {"RateLimit", "\"default\";r=4;t=45"}}));
    EXPECT_EQ(response.request_headers_to_add,
              (std::vector<HeaderValue>{{"x-l", "5"}, {"x-r", "4"}, {"x-t", "45"}}));
    EXPECT_TRUE(ask({{{{"x", "1"}}}}).response_headers_to_add.empty());
}

TEST_F(RateLimiterTest, MetadataHasTheRequestAndWhatPassingRulesAdd) {
    set_options({.dynamic_metadata = true});
    load_descriptors(
        {"key: a, rate_limit: {unit: hour, requests_per_unit: 9, metadata: {tier: {x: 1}, n: 1}}",
         "key: b, metadata: {tier: {x: 2, y: 2}}, rate_limit: {unit: hour, requests_per_unit: 9}",
         "key: c, metadata: {no: 1}, rate_limit: {unit: hour}"});
    request_for({{{{"a", "1"}}, 3}, {{{"b", "1"}}}, {{{"c", "1"}}}});
    request_.hits_addend = 2;
    std::string json;
    append_json(json, call(request_).response.dynamic_metadata.value_or(MetadataFields{}));
    EXPECT_EQ(json,
              R"({"domain":"web","descriptors":[{"entries":["a=1"],"hitsAddend":3},)"
              R"({"entries":["b=1"]},{"entries":["c=1"]}],"hitsAddend":2,)"
              R"("metadata":{"tier":{"x":1,"y":2},"n":1}})");
}

TEST_F(RateLimiterTest, MetadataIsUtf8WhateverTheRequestHolds) {
    set_options({.dynamic_metadata = true});
    load_descriptors({kTwoPerMinute});
    request_for({{{{"user", "caf\xC3\xA9\xFF"}}}}).domain = "web\xC3";
    std::string json;
    append_json(json, call(request_).response.dynamic_metadata.value_or(MetadataFields{}));
    EXPECT_EQ(json,
              "{\"domain\":\"web\xEF\xBF\xBD\",\"descriptors\":"
              "[{\"entries\":[\"user=caf\xC3\xA9\xEF\xBF\xBD\"]}]}");
}

TEST_F(RateLimiterTest, CheckSpendsNothingAndReportSpendsAlways) {
    load_descriptors({kTwoPerMinute});
    const auto check = [this](std::uint64_t hits) {
        return codes(
            call(request_for({{{{"user", "a"}}, hits}}), kNow, &RateLimiter::check_rate_limit)
                .response);
    };
    EXPECT_EQ(check(2), "OK=OK");
    EXPECT_EQ(check(2), "OK=OK");
    EXPECT_EQ(check(3), "OVER=OVER");
    EXPECT_EQ(codes(call(request_for({{{{"user", "a"}}, 3}}), kNow, &RateLimiter::report).response),
              "OVER=OK");
    EXPECT_EQ(check(1), "OVER=OVER");
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 0}})), "OVER=OVER") << "3 of 2 were reported";
}

// With an origin, the first request for a key waits for it.
class SharedRateLimiterTest : public ServiceFixture {
  protected:
    SharedRateLimiterTest()
        : ServiceFixture(std::string("memory:rls_") +
                         testing::UnitTest::GetInstance()->current_test_info()->name()) {}
};

TEST_F(SharedRateLimiterTest, AnswersLaterWhereTheOriginDecides) {
    set_options({.dynamic_metadata = true});
    load_descriptors({kTwoPerMinute, "key: path, rate_limit: {unit: hour, requests_per_unit: 5}"});
    const RateLimitResponse first = ask({{{{"user", "a"}}}, {{{"none", ""}}}, {{{"path", "/"}}}});
    EXPECT_TRUE(was_deferred_);
    EXPECT_EQ(codes(first), "OK,OK,OK=OK");
    EXPECT_EQ(first.statuses.at(0).limit_remaining, 1U);
    EXPECT_EQ(first.statuses.at(2).limit_remaining, 4U);
    EXPECT_TRUE(first.dynamic_metadata);
    ask({{{{"user", "a"}}}});
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 10}})), "OVER=OVER");
    EXPECT_EQ(codes(ask({{{{"user", "a"}}, 0}})), "OVER=OVER") << "the denied hits were debited";
}

TEST_F(SharedRateLimiterTest, DefersABatchAsAWhole) {
    set_options({.counting = Counting::kAllOrNothing});
    load_descriptors({kTwoPerMinute, "key: path, rate_limit: {unit: hour, requests_per_unit: 1}"});
    const std::vector<TestDescriptor> both = {{{{"user", "a"}}}, {{{"path", "/"}}}};
    EXPECT_EQ(codes(ask(both)), "OK,OK=OK");
    EXPECT_TRUE(was_deferred_);
    EXPECT_EQ(codes(ask(both)), "OK,OVER=OVER");
    EXPECT_EQ(ask({{{{"user", "a"}}, 0}}).statuses.at(0).limit_remaining, 1U);
}

}  // namespace
}  // namespace sluice::rls
