// Tests of the client commands that need no server.
#include <chrono>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "cli/bench_command.h"
#include "cli/limit_command.h"
#include "cli/load_generator.h"
#include "cli/url.h"

namespace sluice::cli {
namespace {

using namespace std::chrono_literals;

TEST(Url, HasSchemeHostPortAndPrefix) {
    EXPECT_EQ(*parse_url("http://127.0.0.1:8080"), (Url{false, "127.0.0.1", "8080", ""}));
    EXPECT_EQ(*parse_url("https://example.org/"), (Url{true, "example.org", "443", ""}));
    EXPECT_EQ(*parse_url("http://[::1]:81/a/b/"), (Url{false, "::1", "81", "/a/b"}));
}

TEST(Url, RefusesOtherForms) {
    for (const char* text : {"",
                             "127.0.0.1:8080",
                             "ftp://a",
                             "http://",
                             "http://:80",
                             "http://a:",
                             "http://a:0",
                             "http://a:65536",
                             "http://[::1",
                             "http://[::1]80",
                             "http://a b",
                             "http://a\r\nX: y",
                             "http://user@a",
                             "http://a?b",
                             "http://a#b"}) {
        EXPECT_FALSE(parse_url(text)) << text;
    }
    EXPECT_EQ(
        parse_url("ftp://a").error().message,
        "--url is \"ftp://a\"; allowed is http://HOST[:PORT][/PREFIX], or the same with https");
}

TEST(Url, FormatsTheHostHeader) {
    EXPECT_EQ(parse_url("http://a:80")->authority(), "a");
    EXPECT_EQ(parse_url("https://a:80")->authority(), "a:80");
    EXPECT_EQ(parse_url("http://[::1]:8080")->authority(), "[::1]:8080");
}

TEST(LatencyHistogram, PercentilesAreAccurate) {
    LatencyHistogram latency;
    for (int i = 1; i <= 1000; ++i)
        latency.add(std::chrono::microseconds(i));
    EXPECT_EQ(latency.count(), 1000U);
    EXPECT_NEAR(static_cast<double>(latency.percentile(0.5).count()), 500e3, 500e3 / 60);
    EXPECT_NEAR(static_cast<double>(latency.percentile(0.99).count()), 990e3, 990e3 / 60);
    EXPECT_GE(latency.percentile(1.0), 1ms);
}

TEST(LatencyHistogram, AcceptsExtremesAndMayBeEmpty) {
    EXPECT_EQ(LatencyHistogram{}.percentile(0.99), 0ns);
    LatencyHistogram latency;
    latency.add(-1ns);
    latency.add(std::chrono::nanoseconds::max());
    EXPECT_EQ(latency.percentile(0.0), 0ns);
    EXPECT_GT(latency.percentile(1.0), 1h);
}

TEST(ResponseExtent, EndsAfterItsContentLength) {
    const std::string response = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    for (std::size_t size = 0; size < response.size(); ++size) {
        EXPECT_EQ(find_response(response.substr(0, size)).state, ResponseState::kIncomplete)
            << size;
    }
    const ResponseExtent found = find_response(response + "HTTP/1.1");
    EXPECT_EQ(found.state, ResponseState::kComplete);
    EXPECT_EQ(found.status, 200);
    EXPECT_EQ(found.size, response.size());
    EXPECT_FALSE(found.closes);
}

TEST(ResponseExtent, ReportsThatTheServerCloses) {
    EXPECT_TRUE(
        find_response("HTTP/1.1 503 X\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n").closes);
}

TEST(ResponseExtent, IsMalformedWithoutALengthOrHttp) {
    for (const char* response : {"SSH-2.0",
                                 "HTTP/1.1 200 OK\r\n\r\n",
                                 "HTTP/1.1 abc\r\nContent-Length: 0\r\n\r\n",
                                 "HTTP/1.1\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"}) {
        EXPECT_EQ(find_response(response).state, ResponseState::kMalformed) << response;
    }
    EXPECT_EQ(find_response("HTTP/1.1 200 OK\r\n" + std::string(20000, 'x')).state,
              ResponseState::kMalformed);
}

TEST(LimitParameters, AreValidJsonWithAnyText) {
    const LimitParameters parameters{
        .name_space = "a\"b", .identifier = "c\\\n", .limit = 10, .duration = 60s, .cost = 2};
    EXPECT_EQ(to_json(parameters),
              R"({"namespace":"a\"b","identifier":"c\\\n","limit":10,"duration":60000,"cost":2})");
}

struct Report {
    ExitCode code;
    std::string out, err;
};
Report report(int status, const std::string& body, Output output = Output::kText) {
    std::ostringstream out;
    std::ostringstream err;
    const ExitCode code = report_decision({status, body}, output, UnixTime{10s}, {{}, out, err});
    return {code, out.str(), err.str()};
}

TEST(LimitReport, PassExitsWith0) {
    const Report pass =
        report(200, R"({"data":{"success":true,"limit":10,"remaining":9,"reset":12340}})");
    EXPECT_EQ(pass.code, ExitCode::kOk);
    EXPECT_EQ(pass.out, "passed: 9 of 10 remain, the window ends in 2.4 s\n");
    EXPECT_EQ(pass.err, "");
}

TEST(LimitReport, DenialExitsWith1) {
    const Report later = report(
        200, R"({"data":{"success":false,"limit":1,"remaining":0,"reset":9,"retryAt":11000}})");
    EXPECT_EQ(later.code, ExitCode::kDenied);
    EXPECT_EQ(later.out, "denied: the limit is 1; try again in 1.0 s\n");
    const Report never =
        report(200, R"({"data":{"success":false,"limit":1,"remaining":0,"reset":9}})");
    EXPECT_EQ(never.code, ExitCode::kDenied);
    EXPECT_EQ(never.out, "denied: the limit is 1; this cost never passes\n");
}

TEST(LimitReport, JsonIsTheBodyOfTheResponse) {
    const std::string body = R"({"data":{"success":true,"limit":10,"remaining":9,"reset":12340}})";
    EXPECT_EQ(report(200, body, Output::kJson).out, body + "\n");
}

TEST(LimitReport, AnyOtherResponseExitsWith2AndTheReason) {
    const Report refused = report(
        400, R"({"error":{"detail":"no","errors":[{"location":"body.limit","message":"is -1"}]}})");
    EXPECT_EQ(refused.code, ExitCode::kError);
    EXPECT_EQ(refused.err, "sluice limit: the server answered 400: no\n  body.limit: is -1\n");
    for (const char* body :
         {"", "<html>", "[]", "{}", R"({"data":{"success":true}})", R"({"data":null})"}) {
        EXPECT_EQ(report(200, body).code, ExitCode::kError) << body;
        EXPECT_EQ(report(200, body).out, "");
    }
}

TEST(BenchRequest, HasAContentLength) {
    BenchOptions options;
    options.target.url = *parse_url("http://a:1/p");
    options.target.token = "t";
    options.keys = 1;
    std::string request;
    write_request(options, 7, request);
    EXPECT_EQ(request,
              "POST /p/v2/ratelimit.limit HTTP/1.1\r\nHost: a:1\r\nContent-Type: "
              "application/json\r\nAuthorization: Bearer t\r\nContent-Length: "
              "00000075\r\n\r\n"
              R"({"namespace":"bench","identifier":"key-0","limit":1000000,"duration":60000})");
    EXPECT_EQ(request.size() - request.find("\r\n\r\n") - 4, 75U);
}

TEST(BenchRequest, IsAnArrayForABatch) {
    BenchOptions options;
    options.target.url = *parse_url("http://a");
    options.batch = 2;
    options.keys = 1;
    std::string request;
    write_request(options, 0, request);
    const std::string item =
        R"({"namespace":"bench","identifier":"key-0","limit":1000000,"duration":60000})";
    EXPECT_TRUE(request.starts_with("POST /v2/ratelimit.multiLimit "));
    EXPECT_TRUE(request.ends_with("\r\n\r\n[" + item + "," + item + "]"));
}

TEST(BenchResult, ShowsThroughputPercentilesAndErrors) {
    BenchResult result;
    result.took = 2s;
    result.requests = 2000;
    result.decisions = 2'000'000;
    result.latency.add(63us);
    result.errors["status 503"] = 3;
    std::ostringstream out;
    print_result({}, result, out);
    EXPECT_NE(out.str().find("decisions  2,000,000, 1,000,000 per second\n"), std::string::npos)
        << out.str();
    EXPECT_NE(out.str().find("latency    p50 63 us, p99 63 us, p99.9 63 us\n"), std::string::npos)
        << out.str();
    EXPECT_NE(out.str().find("errors     3\n           3 times: status 503\n"), std::string::npos);
}

}  // namespace
}  // namespace sluice::cli
