#include "http/api/request_headers.h"

#include <gtest/gtest.h>

#include "http/wire/request_reader.h"

namespace sluice::http {

namespace {

TEST(HeaderValues, ContentTypeIsComparedWithoutParameters) {
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

TEST(HeaderValues, ProblemJsonMustBeAccepted) {
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

TEST(HeaderValues, GzipMustBeAccepted) {
    for (const std::string_view value :
         {"gzip", "GZIP", "br, gzip;q=0.1", "*", "identity;q=0.5, *;q=0.1", "gzip;q=1, *;q=0"})
        EXPECT_TRUE(accepts_gzip(value)) << value;
    for (const std::string_view value : {"", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *", "x-gzip2"})
        EXPECT_FALSE(accepts_gzip(value)) << value;
}

TEST(HeaderValues, IfNoneMatchNamesATag) {
    for (const std::string_view value : {"\"a\"", "W/\"a\"", "\"b\",\"a\"", "*", "\",\", \"a\""})
        EXPECT_TRUE(names_entity_tag(value, "\"a\"")) << value;
    for (const std::string_view value : {"", "a", "\"b\"", "\"b,a\"", "\"A\""})
        EXPECT_FALSE(names_entity_tag(value, "\"a\"")) << value;
}

TEST(HeaderValues, PreferNamesStatus429) {
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

TEST(HeaderValues, BearerTokenFollowsItsScheme) {
    EXPECT_EQ(bearer_token("Bearer abc"), "abc");
    EXPECT_EQ(bearer_token("bearer   abc  "), "abc");
    EXPECT_EQ(bearer_token("Bearer "), "");
    EXPECT_EQ(bearer_token("Bearer"), "");
    for (const std::string_view value :
         {"", "abc", "Basic abc", "Bearerabc", "Bear", "Bearer\tabc"}) {
        EXPECT_EQ(bearer_token(value), std::nullopt) << value;
    }
}

TEST(HeaderValues, TestTimeIsMillisecondsSince1970) {
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

using Access = HostRule::Access;

bool allows(const HostRule& rule,
            const std::string& fields,
            const std::string& version = "1.1",
            Access access = Access::kByToken) {
    const std::string head = "GET / HTTP/" + version + "\r\n" + fields + "\r\n";
    RequestView request;
    HeadFacts facts;
    EXPECT_EQ(parse_head(head, request, facts).status, 0) << head;
    return rule.allows(request, access);
}

TEST(HostRule, AllowsEveryHostUnlessItIsLocal) {
    EXPECT_TRUE(allows(HostRule(), "Host: example.com\r\n"));
    EXPECT_TRUE(allows(HostRule(), "Host: \r\n"));
}

TEST(HostRule, AllowsNamesAndAddressesOfLoopback) {
    const HostRule rule = HostRule::local({});
    for (const std::string host : {"localhost",
                                   "localhost:8080",
                                   "LocalHost:1",
                                   "localhost.",
                                   "api.localhost:8080",
                                   "127.0.0.1",
                                   "127.0.0.1:8080",
                                   "127.255.1.2:80",
                                   "[::1]",
                                   "[::1]:8080",
                                   "[0:0:0:0:0:0:0:1]:8080",
                                   "[::ffff:127.0.0.1]:8080"}) {
        EXPECT_TRUE(allows(rule, "Host: " + host + "\r\n")) << host;
    }
}

TEST(HostRule, RefusesForeignHosts) {
    const HostRule rule = HostRule::local({});
    for (const std::string host : {"example.com",
                                   "example.com:8080",
                                   "localhost.example.com",
                                   "notlocalhost",
                                   "127.0.0.1.example.com",
                                   "127.0.0.1:8080.example.com",
                                   "127.1",
                                   "128.0.0.1",
                                   "0.0.0.0:8080",
                                   "10.0.0.1",
                                   "[::2]:8080",
                                   "[::]",
                                   "[localhost]",
                                   "[::1",
                                   "::1",
                                   "localhost:8080:1",
                                   "localhost:123456",
                                   ":8080",
                                   "."}) {
        EXPECT_FALSE(allows(rule, "Host: " + host + "\r\n")) << host;
    }
    EXPECT_FALSE(allows(rule, "Host: \r\n"));
}

TEST(HostRule, AllowsConfiguredNames) {
    const HostRule rule = HostRule::local({"sluice.internal", "api"});
    EXPECT_TRUE(allows(rule, "Host: Sluice.Internal:8080\r\n"));
    EXPECT_TRUE(allows(rule, "Host: api\r\n"));
    EXPECT_FALSE(allows(rule, "Host: x.sluice.internal\r\n"));
}

TEST(HostRule, AllowsEveryHostBehindAProxyWhileRequestsNeedAToken) {
    const HostRule rule = HostRule::proxied({"sluice.internal"});
    EXPECT_TRUE(allows(rule, "Host: example.com\r\n", "1.1", Access::kByToken));
    EXPECT_FALSE(allows(rule, "Host: example.com\r\n", "1.1", Access::kOpen));
    EXPECT_TRUE(allows(rule, "Host: sluice.internal\r\n", "1.1", Access::kOpen));
    EXPECT_TRUE(allows(rule, "Host: 127.0.0.1:80\r\n", "1.1", Access::kOpen));
    EXPECT_TRUE(allows(rule, "", "1.0", Access::kOpen));
}

TEST(HostRule, AllowsARequestWithoutAHost) {
    EXPECT_TRUE(allows(HostRule::local({}), "", "1.0"));
    EXPECT_FALSE(allows(HostRule::local({}), "Host: example.com\r\n", "1.0"));
}

}  // namespace

}  // namespace sluice::http
