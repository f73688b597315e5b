#include "server/rate_limit_routes.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/api/api_fixture.h"
#include "rls/rule_file.h"
#include "rls/rule_metrics.h"

namespace sluice::server {
namespace {

using http::Answer;
using http::Sent;

constexpr const char* kRules =
    "domain: web\ndescriptors:\n  - key: user\n    rate_limit: {unit: minute, requests_per_unit: "
    "1}\n";
constexpr const char* kAnn =
    R"({"domain":"web","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]})";

config::Token token(const std::string& secret,
                    const std::string& workspace,
                    const std::string& name_space) {
    config::Token made = config::all_powerful_token(secret, secret);
    made.workspace = workspace;
    made.namespaces = {name_space};
    return made;
}

class RateLimitRoutesTest : public http::ApiFixture {
  protected:
    explicit RateLimitRoutesTest(const std::vector<config::Token>& tokens = {},
                                 const std::string& origin = "")
        : ApiFixture(tokens, origin) {
        rls::RuleBudget budget;
        const auto rules = rls::RuleSet::build({*rls::parse_rules(kRules, "a.yaml", budget)},
                                               rls::SameDomain::kRefuse);
        rules_.replace(rule_metrics_.activate(*rules));
        http::ApiContext with_service = context(http::ListenerRole::kPublic);
        with_service.rate_limits = {
            .decide = rate_limit_route({limiter_, rules_, *overrides_, rule_metrics_, options_}),
            .is_healthy = [this] { return is_healthy_; }};
        service_.emplace(with_service);
    }

    Answer ask(const std::string& body, const std::string& secret = "") {
        Sent sent{.path = "/json", .body = body};
        if (!secret.empty()) sent.headers = {{"Authorization", "Bearer " + secret}};
        return ask(sent);
    }
    Answer ask(Sent sent) {
        sent.headers.emplace_back("X-Test-Time", std::to_string(kNow));
        return send(*service_, sent);
    }

    rls::RuleMetrics rule_metrics_;
    Current<rls::ActiveRules> rules_{rls::RuleMetrics::none()};
    std::shared_ptr<rls::AnswerOptions> options_ = std::make_shared<rls::AnswerOptions>();
    bool is_healthy_ = true;
    std::optional<http::Api> service_;
};

TEST_F(RateLimitRoutesTest, Answers200Then429WithTheJsonOfTheMessage) {
    const Answer first = ask(kAnn);
    EXPECT_EQ(first.status, 200);
    EXPECT_NE(first.fields.find("Content-Type: application/json\r\n"), std::string::npos);
    EXPECT_EQ(first.body,
              R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":1,)"
              R"("unit":"MINUTE"},"durationUntilReset":"60s"}]})");
    const Answer second = ask(kAnn);
    EXPECT_EQ(second.status, 429);
    EXPECT_EQ(second.body.substr(0, 28), R"({"overallCode":"OVER_LIMIT",)");
}

TEST_F(RateLimitRoutesTest, Answers400ForWhatIsNotValid) {
    const auto detail = [&](const std::string& body) {
        const Answer answer = ask(body);
        EXPECT_EQ(answer.status, 400) << body;
        const std::size_t at = answer.body.find(R"("detail":")") + 10;
        return answer.body.substr(at, answer.body.find('"', at) - at);
    };
    EXPECT_EQ(detail("{}"), "rate limit domain must not be empty");
    EXPECT_EQ(detail(R"({"domain":"web"})"), "rate limit descriptor list must not be empty");
    EXPECT_EQ(detail(R"({"domian":"web"})"), "request: unknown field \\");
    EXPECT_EQ(detail("").substr(0, 23), "the request is not JSON");
    rules_.replace(rls::RuleMetrics::none());
    EXPECT_EQ(detail(kAnn), "no rate limit configuration loaded");
}

TEST_F(RateLimitRoutesTest, TakesGetAndAnyContentTypeButNotFromBrowsers) {
    EXPECT_EQ(ask({.method = "GET", .path = "/json", .body = kAnn, .json = false}).status, 200);
    const std::vector<std::pair<std::string, std::string>> form = {
        {"Content-Type", "application/x-www-form-urlencoded"}};
    EXPECT_EQ(ask({.path = "/json", .body = kAnn, .headers = form, .json = false}).status, 429);
    for (const auto& [name, value] :
         {std::pair("Origin", "https://example.com"), std::pair("Sec-Fetch-Site", "cross-site")}) {
        EXPECT_EQ(
            ask({.path = "/json", .body = kAnn, .headers = {{name, value}}, .json = false}).status,
            415);
        EXPECT_EQ(ask({.path = "/json", .body = kAnn, .headers = {{name, value}}}).status, 429);
    }
    const Answer put = ask({.method = "PUT", .path = "/json", .body = kAnn});
    EXPECT_EQ(put.status, 405);
    EXPECT_EQ(put.field("Allow"), "GET, POST");
    EXPECT_EQ(send({.method = "GET", .path = "/v2/ratelimit.limit", .body = "{}"}).status, 405);
}

TEST_F(RateLimitRoutesTest, HealthIsOkOr500) {
    const Sent check{.method = "GET", .path = "/healthcheck", .json = false};
    EXPECT_EQ(ask(check).status, 200);
    EXPECT_EQ(ask(check).body, "OK");
    is_healthy_ = false;
    EXPECT_EQ(ask(check).status, 500);
    EXPECT_EQ(ask(check).body, "");
}

TEST_F(RateLimitRoutesTest, AreNotFoundWithoutTheService) {
    EXPECT_EQ(send({.path = "/json", .body = kAnn}).status, 404);
    EXPECT_EQ(send({.method = "GET", .path = "/healthcheck"}).status, 404);
}

TEST_F(RateLimitRoutesTest, WithoutTokensTheWorkspaceIsThatOfTheService) {
    options_->workspace = "edge";
    EXPECT_EQ(ask(kAnn).status, 200);
}

class GuardedRateLimitRoutesTest : public RateLimitRoutesTest {
  protected:
    GuardedRateLimitRoutesTest()
        : RateLimitRoutesTest({token("all", "default", "*"),
                               token("web", "default", "web"),
                               token("other", "default", "api*"),
                               token("foreign", "acme", "*")}) {}
};

TEST_F(GuardedRateLimitRoutesTest, NeedATokenThatCoversTheDomain) {
    EXPECT_EQ(ask(kAnn).status, 401);
    EXPECT_EQ(ask(kAnn, "wrong").status, 401);
    EXPECT_EQ(ask(kAnn, "other").status, 403);
    EXPECT_EQ(ask(kAnn, "foreign").status, 403);
    EXPECT_EQ(ask(kAnn, "web").status, 200) << "those that were refused have spent nothing";
    EXPECT_EQ(ask(kAnn, "all").status, 429);
    EXPECT_EQ(ask({.method = "GET", .path = "/healthcheck", .json = false}).status, 200);
}

class SharedRateLimitRoutesTest : public RateLimitRoutesTest {
  protected:
    SharedRateLimitRoutesTest() : RateLimitRoutesTest({}, "memory:rate_limit_routes") {}
};

TEST_F(SharedRateLimitRoutesTest, WaitForTheOriginWhereItDecides) {
    EXPECT_EQ(ask(kAnn).status, 200);
    EXPECT_NE(metrics_text().find(R"(sluice_http_request_duration_seconds_count{route="json"} 1)"),
              std::string::npos);
    EXPECT_EQ(ask(kAnn).status, 429);
}

}  // namespace
}  // namespace sluice::server
