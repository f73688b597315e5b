#include "base/clock.h"
#include "http/api/api_fixture.h"

namespace sluice::http {
namespace {

class DecisionRoutes : public ApiFixture {
  protected:
    Answer many(std::string body, std::int64_t after = 0) {
        return post("/v2/ratelimit.multiLimit", std::move(body), after);
    }
    Answer set_override(std::string body) {
        return post("/v2/ratelimit.setOverride", std::move(body));
    }
};

constexpr std::string_view kAlice =
    R"({"namespace":"n","identifier":"alice","limit":2,"duration":60000})";

TEST_F(DecisionRoutes, APassHasLimitRemainingAndReset) {
    const Answer answer =
        limit(R"({"namespace":"n","cost":3,"duration":60000,"identifier":"i","limit":10})", 20'000);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":{"success":true,"limit":10,"remaining":7,"reset":1700000100000}})");
    EXPECT_EQ(answer.fields,
              "Content-Type: application/json\r\n"
              "RateLimit-Policy: \"default\";q=10;w=60\r\n"
              "RateLimit: \"default\";r=7;t=40\r\n");
}

TEST_F(DecisionRoutes, ADenialIs200WithRetryAt) {
    limit(std::string(kAlice));
    limit(std::string(kAlice));
    const Answer answer = limit(std::string(kAlice), 30'500);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":{"success":false,"limit":2,"remaining":0,"reset":1700000100000,)"
        R"("retryAt":1700000130000}})");
    EXPECT_EQ(answer.fields,
              "Content-Type: application/json\r\n"
              "RateLimit-Policy: \"default\";q=2;w=60\r\n"
              "RateLimit: \"default\";r=0;t=30\r\n"
              "Retry-After: 60\r\n");
}

TEST_F(DecisionRoutes, ARequestThatCanNeverPassHasNoRetryAt) {
    const Answer answer =
        limit(R"({"namespace":"n","identifier":"banned","limit":0,"duration":1500})", 100);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":{"success":false,"limit":0,"remaining":0,"reset":1700000041500}})");
    EXPECT_EQ(answer.field("RateLimit-Policy"), "\"default\";q=0;w=2");
    EXPECT_EQ(answer.field("Retry-After"), "2");
}

TEST_F(DecisionRoutes, ADebitIsSpentAlthoughItIsDenied) {
    const Answer over = limit(
        R"({"namespace":"n","identifier":"i","limit":10,"duration":60000,"cost":8,"debit":true})");
    EXPECT_NE(over.body.find(R"("success":true,"limit":10,"remaining":2)"), std::string::npos);
    const Answer denied = limit(
        R"({"namespace":"n","identifier":"i","limit":10,"duration":60000,"cost":8,"debit":true})");
    EXPECT_EQ(denied.status, 200);
    EXPECT_NE(denied.body.find(R"("success":false,"limit":10,"remaining":0)"), std::string::npos);
    EXPECT_NE(denied.field("Retry-After"), "none");
    const Answer check =
        limit(R"({"namespace":"n","identifier":"i","limit":20,"duration":60000,"cost":0})");
    EXPECT_NE(check.body.find(R"("remaining":4)"), std::string::npos) << check.body;
    // Neither is a debit.
    EXPECT_NE(limit(R"({"namespace":"n","identifier":"i","limit":9,"duration":60000,"debit":1})")
                  .body.find("body.debit\",\"message\":\"is a number; allowed: true or false"),
              std::string::npos);
    EXPECT_EQ(
        many(R"([{"namespace":"n","identifier":"i","limit":9,"duration":60000,"debit":true}])")
            .status,
        400);
}

TEST_F(DecisionRoutes, ADenialIs429IfPreferred) {
    const auto ask = [this] {
        return send({.body = std::string(kAlice),
                     .headers = {{"Prefer", "status=429"}, {"X-Test-Time", std::to_string(kNow)}}});
    };
    const Answer passed = ask();
    EXPECT_EQ(passed.status, 200);
    EXPECT_EQ(passed.field("Preference-Applied"), "none");
    ask();
    const Answer denied = ask();
    EXPECT_EQ(denied.status, 429);
    EXPECT_EQ(denied.field("Content-Type"), "application/json");
    EXPECT_EQ(denied.field("Preference-Applied"), "status=429");
    EXPECT_EQ(denied.field("Retry-After"), "90");
    EXPECT_EQ(denied.body, limit(std::string(kAlice)).body) << "the same body with either status";
}

class V1Limit : public ApiFixture {
  protected:
    Answer ask(std::string body) { return post("/v1/ratelimits.limit", std::move(body)); }
    // `fields` are appended to the required ones.
    static std::string with(const std::string& fields) {
        return R"({"identifier":"i","limit":3,"duration":60000)" + fields + "}";
    }
    static std::string error(const std::string& code, const std::string& message) {
        return R"({"error":{"code":")" + code +
               R"(","docs":"https://unkey.dev/docs/api-reference/errors/code/)" + code +
               R"(","message":")" + message + R"(","requestId":"ID"}})";
    }
};

TEST_F(V1Limit, AnswersWithoutAnEnvelope) {
    const std::string reset = std::to_string(kNow + 60'000);
    const Answer passed = ask(with(""));
    EXPECT_EQ(passed.status, 200);
    EXPECT_EQ(passed.body, R"({"success":true,"limit":3,"remaining":2,"reset":)" + reset + "}");
    EXPECT_EQ(passed.field("RateLimit"), "\"default\";r=2;t=60");
    const Answer denied = ask(with(R"(,"cost":3)"));
    EXPECT_EQ(denied.status, 200);
    EXPECT_EQ(denied.body, R"({"success":false,"limit":3,"remaining":0,"reset":)" + reset + "}");
}

TEST_F(V1Limit, UsesTheDefaultNamespaceIfNoneIsGiven) {
    ask(with(""));
    const Answer same = ask(with(R"(,"namespace":"default")"));
    EXPECT_NE(same.body.find(R"("remaining":1,)"), std::string::npos) << same.body;
    const Answer other = ask(with(R"(,"namespace":"other")"));
    EXPECT_NE(other.body.find(R"("remaining":2,)"), std::string::npos) << other.body;
    const Answer v2 =
        limit(R"({"namespace":"default","identifier":"i","limit":3,"duration":60000})");
    EXPECT_NE(v2.body.find(R"("remaining":0,)"), std::string::npos) << v2.body;
}

TEST_F(V1Limit, IgnoresAsyncMetaAndResources) {
    const std::string extra =
        R"(,"async":true,"meta":{"a":[1,{"b":null}],"c":"}"},"resources":[{"type":"t","id":"1"}])";
    EXPECT_EQ(ask(with(extra)).status, 200);
    EXPECT_EQ(ask(with(R"(,"async":false,"meta":{},"resources":[])")).status, 200);
    EXPECT_EQ(limit(R"({"namespace":"n","identifier":"i","limit":1,"duration":1000,"async":true})")
                  .status,
              400)
        << "v2 does not have it";
}

TEST_F(V1Limit, ReportsErrorsInItsOwnFormat) {
    const Answer wrong = ask(R"({"identifier":"i","limit":-1,"duration":1})");
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(wrong.body,
              error("BAD_REQUEST",
                    "body.limit is -1; allowed: a whole number from 0 to 9007199254740991"
                    " (and 1 more)"));
    EXPECT_EQ(ask(with(R"(,"colour":1)")).status, 400);
    const Answer broken = ask(with(R"(,"meta":{"a":tru})"));
    EXPECT_EQ(broken.status, 400) << "what is ignored must be JSON, too";
    EXPECT_NE(broken.body.find("is not JSON at byte"), std::string::npos) << broken.body;
    const Answer method = send({.method = "GET", .path = "/v1/ratelimits.limit"});
    EXPECT_EQ(method.status, 405);
    EXPECT_EQ(method.body, error("METHOD_NOT_ALLOWED", "This route takes POST only."));
}

TEST_F(DecisionRoutes, TheLargestNumbersAreExact) {
    const Answer answer = limit(
        R"({"namespace":"n","identifier":"i","limit":9007199254740991,"duration":31622400000,"cost":1})");
    EXPECT_NE(answer.body.find(R"("limit":9007199254740991,"remaining":9007199254740990,)"),
              std::string::npos)
        << answer.body;
    EXPECT_EQ(answer.field("RateLimit-Policy"), "\"default\";q=999999999999999;w=31622400");
}

TEST_F(DecisionRoutes, WithoutTestTimeTheSystemClockIsUsed) {
    const Answer answer = send({.body = std::string(kAlice)});
    const std::int64_t reset = (exact_wall_time().time_since_epoch().count() / 60'000 + 1) * 60'000;
    EXPECT_NE(answer.body.find("\"reset\":" + std::to_string(reset)), std::string::npos)
        << answer.body;
}

TEST_F(DecisionRoutes, TestTimeIsIgnoredWithTheSystemClock) {
    Api api({.limiter = limiter_,
             .overrides = *overrides_,
             .override_changes = override_changes_,
             .namespaces = namespaces_,
             .tokens = tokens_,
             .metrics = metrics_,
             .thread_metrics = metrics_.thread(0),
             .readiness = readiness_});
    const std::string head =
        "POST /v2/ratelimit.limit HTTP/1.1\r\nHost: h\r\nContent-Type: "
        "application/json\r\nX-Test-Time: nonsense\r\n\r\n";
    RequestView request;
    HeadFacts facts;
    ASSERT_EQ(parse_head(head, request, facts).status, 0);
    request.body = kAlice;
    Reply reply;
    api.handle(request, reply, Completion(nullptr));
    EXPECT_EQ(reply.status(), 200);
}

TEST_F(DecisionRoutes, AnInvalidTestTimeIsAFieldError) {
    const Answer answer =
        send({.body = R"({"namespace":"n","identifier":"i","limit":1,"duration":1})",
              .headers = {{"X-Test-Time", "soon"}}});
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(
        answer.body.find(
            R"("errors":[{"location":"header.X-Test-Time","message":"is no time; allowed: milliseconds since 1970, from 0 to 9007199254740991"},{"location":"body.duration",)"),
        std::string::npos)
        << answer.body;
}

TEST_F(DecisionRoutes, ABatchListsEachDecision) {
    const Answer answer =
        many(R"([{"namespace":"n","identifier":"a","limit":3,"duration":60000},)"
             R"({"namespace":"m\"","identifier":"b\n","limit":5,"duration":1000,"cost":2},)"
             R"({"namespace":"n","identifier":"a","limit":3,"duration":60000}])");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":{"passed":true,"limits":[)"
        R"({"namespace":"n","identifier":"a","passed":true,"limit":3,"remaining":2,"reset":1700000100000},)"
        R"({"namespace":"m\"","identifier":"b\n","passed":true,"limit":5,"remaining":3,"reset":1700000041000},)"
        R"({"namespace":"n","identifier":"a","passed":true,"limit":3,"remaining":1,"reset":1700000100000}]}})");
    EXPECT_EQ(answer.field("RateLimit-Policy"), "\"default\";q=3;w=60");
    EXPECT_EQ(answer.field("RateLimit"), "\"default\";r=1;t=60");
    EXPECT_EQ(answer.field("Retry-After"), "none");
}

TEST_F(DecisionRoutes, ABatchSpendsAllOrNothing) {
    const std::string body = R"([{"namespace":"n","identifier":"a","limit":3,"duration":60000},)"
                             R"({"namespace":"n","identifier":"b","limit":0,"duration":60000}])";
    const Answer answer = many(body);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":{"passed":false,"limits":[)"
        R"({"namespace":"n","identifier":"a","passed":true,"limit":3,"remaining":3,"reset":1700000100000},)"
        R"({"namespace":"n","identifier":"b","passed":false,"limit":0,"remaining":0,"reset":1700000100000}]}})");
    EXPECT_EQ(answer.field("RateLimit-Policy"), "\"default\";q=0;w=60");
    EXPECT_EQ(answer.field("Retry-After"), "60");
    const Answer peek =
        limit(R"({"namespace":"n","identifier":"a","limit":3,"duration":60000,"cost":0})");
    EXPECT_NE(peek.body.find("\"remaining\":3,"), std::string::npos) << peek.body;

    const Answer preferred =
        send({.path = "/v2/ratelimit.multiLimit",
              .body = body,
              .headers = {{"prefer", "status=429"}, {"x-test-time", std::to_string(kNow)}}});
    EXPECT_EQ(preferred.status, 429);
    EXPECT_EQ(preferred.field("Preference-Applied"), "status=429");
    EXPECT_EQ(preferred.body, answer.body);
}

TEST_F(DecisionRoutes, AnOverrideReplacesLimitAndDuration) {
    const Answer set =
        set_override(R"({"namespace":"n","identifier":"vip_*","limit":100,"duration":1000})");
    const std::string id =
        set.body.substr(set.body.find("rlor_"), set.body.rfind("\"}}") - set.body.find("rlor_"));
    const Answer answer =
        limit(R"({"namespace":"n","identifier":"vip_1","limit":1,"duration":60000})", 500);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":{"success":true,"limit":100,"remaining":99,"reset":1700000041000,)"
        R"("overrideId":")" +
            id + R"("}})");
    EXPECT_EQ(answer.field("RateLimit-Policy"), "\"default\";q=100;w=1");

    const Answer batch =
        many(R"([{"namespace":"n","identifier":"vip_2","limit":1,"duration":60000},)"
             R"({"namespace":"m","identifier":"vip_2","limit":1,"duration":60000}])");
    EXPECT_EQ(
        batch.body,
        R"({"meta":{"requestId":"ID"},"data":{"passed":true,"limits":[)"
        R"({"namespace":"n","identifier":"vip_2","passed":true,"limit":100,"remaining":99,"reset":1700000041000,)"
        R"("overrideId":")" +
            id +
            R"("},{"namespace":"m","identifier":"vip_2","passed":true,"limit":1,"remaining":0,"reset":1700000100000}]}})");
    EXPECT_NE(metrics_text().find("sluice_decisions_overridden_total 2"), std::string::npos);
}

TEST_F(DecisionRoutes, AnOverrideOfZeroDeniesEverything) {
    set_override(R"({"namespace":"n","identifier":"mallory","limit":0,"duration":60000})");
    const Answer answer =
        limit(R"({"namespace":"n","identifier":"mallory","limit":9,"duration":60000})");
    EXPECT_NE(answer.body.find(R"("success":false,"limit":0,"remaining":0,)"), std::string::npos)
        << answer.body;
    EXPECT_EQ(answer.body.find("retryAt"), std::string::npos);
}

TEST_F(DecisionRoutes, EachDecisionIsCountedByItsOutcome) {
    limit(std::string(kAlice));
    limit(std::string(kAlice));
    limit(std::string(kAlice));
    many(R"([{"namespace":"n","identifier":"a","limit":3,"duration":60000},)"
         R"({"namespace":"n","identifier":"b","limit":0,"duration":60000}])");
    const std::string text = metrics_text();
    EXPECT_NE(text.find(R"(sluice_decisions_total{source="local",outcome="passed"} 3)"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(R"(sluice_decisions_total{source="local",outcome="denied"} 2)"),
              std::string::npos)
        << text;
}

TEST_F(DecisionRoutes, RequestIdsDiffer) {
    const Answer one = limit(std::string(kAlice));
    const Answer other = limit(std::string(kAlice));
    EXPECT_TRUE(one.request_id.starts_with("req_"));
    EXPECT_NE(one.request_id, other.request_id);
}

}  // namespace
}  // namespace sluice::http
