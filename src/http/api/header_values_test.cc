#include "http/api/header_values.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

TEST(HeaderValues, JsonIsKnownByItsTypeWhateverTheParameters) {
    for (const std::string_view value : {"application/json",
                                         "Application/JSON",
                                         "application/json; charset=utf-8",
                                         "application/json;",
                                         " application/json "}) {
        EXPECT_TRUE(is_json(value)) << value;
    }
    for (const std::string_view value : {"",
                                         "text/plain",
                                         "application/jsonp",
                                         "application/problem+json",
                                         "application/x-www-form-urlencoded",
                                         "json",
                                         "*/*",
                                         "text/plain;application/json"}) {
        EXPECT_FALSE(is_json(value)) << value;
    }
}

TEST(HeaderValues, ProblemJsonIsForThoseWhoAskForIt) {
    for (const std::string_view value : {"application/problem+json",
                                         "Application/Problem+JSON",
                                         "application/json, application/problem+json",
                                         "application/problem+json;q=0.5, */*",
                                         "application/json;q=0.5, application/problem+json;q=0.5",
                                         "text/html;level=\"a,b\", application/problem+json"}) {
        EXPECT_TRUE(accepts_problem_json(value)) << value;
    }
    for (const std::string_view value : {"",
                                         "*/*",
                                         "application/json",
                                         "application/*",
                                         "application/problem+json;q=0",
                                         "application/problem+json; q=0.000",
                                         "application/json, application/problem+json;q=0.9",
                                         "\"application/problem+json",
                                         ",,;,"}) {
        EXPECT_FALSE(accepts_problem_json(value)) << value;
    }
}

TEST(HeaderValues, Status429IsPreferredByThoseWhoSaySo) {
    for (const std::string_view value : {"status=429",
                                         "Status = 429",
                                         "status=\"429\"",
                                         "respond-async, status=429",
                                         "status=429; foo=bar",
                                         "wait=5;x=\"a,status=1\", status=429"}) {
        EXPECT_TRUE(prefers_429(value)) << value;
    }
    for (const std::string_view value : {"",
                                         "status",
                                         "status=",
                                         "status=503",
                                         "status=4290",
                                         "xstatus=429",
                                         "foo=\"status=429\"",
                                         "foo; status=429",
                                         "return=minimal",
                                         "foo=\"a, status=429"}) {
        EXPECT_FALSE(prefers_429(value)) << value;
    }
}

TEST(HeaderValues, ABearerTokenFollowsItsScheme) {
    EXPECT_EQ(bearer_token("Bearer abc"), "abc");
    EXPECT_EQ(bearer_token("bearer   abc  "), "abc");
    EXPECT_EQ(bearer_token("Bearer "), "");
    EXPECT_EQ(bearer_token("Bearer"), "");
    for (const std::string_view value :
         {"", "abc", "Basic abc", "Bearerabc", "Bear", "Bearer\tabc"}) {
        EXPECT_EQ(bearer_token(value), std::nullopt) << value;
    }
}

TEST(HeaderValues, ATestTimeIsMillisecondsSince1970) {
    const auto at = [](std::int64_t ms) { return UnixTime{std::chrono::milliseconds{ms}}; };
    EXPECT_EQ(test_time("0"), at(0));
    EXPECT_EQ(test_time("1700000000000"), at(1'700'000'000'000));
    EXPECT_EQ(test_time("9007199254740991"), at(9'007'199'254'740'991));
    for (const std::string_view value : {"",
                                         "-1",
                                         "+1",
                                         "1.5",
                                         "1e3",
                                         "now",
                                         "12x",
                                         "9007199254740992",
                                         "99999999999999999999",
                                         "0x10",
                                         "1 2"}) {
        EXPECT_EQ(test_time(value), std::nullopt) << value;
    }
}

}  // namespace
}  // namespace sluice::http
