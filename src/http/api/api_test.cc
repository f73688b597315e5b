#include "http/api/api.h"

#include "http/api/api_fixture.h"
#include "http/api/json.h"

namespace sluice::http {
namespace {

constexpr std::string_view kGood =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";

using ApiTest = ApiFixture;

TEST_F(ApiTest, AnUnknownRouteIsNotFound) {
    for (const std::string_view path : {"/v2/ratelimit.limits",
                                        "/v2/ratelimit.limit/",
                                        "/V2/ratelimit.limit",
                                        "//v2/ratelimit.limit",
                                        "/v2/ratelimit%2Elimit",
                                        "/healthz/"}) {
        const Answer answer = send({.path = path, .body = std::string(kGood)});
        EXPECT_EQ(answer.status, 404) << path;
        EXPECT_EQ(answer.fields, "Content-Type: application/json\r\n");
        EXPECT_EQ(
            answer.body,
            body_of(
                {404, "Not Found", "There is no such route.", "unkey/application/invalid_input"}));
    }
}

TEST_F(ApiTest, WhatTheAdminListenerServesIsNotFoundWithAHint) {
    for (const std::string_view path : {"/", "/metrics", "/v2/node.status"}) {
        const Answer answer = send({.method = "GET", .path = path});
        EXPECT_EQ(answer.status, 404) << path;
        EXPECT_NE(answer.body.find("the setting admin_listen names"), std::string::npos) << path;
    }
}

TEST_F(ApiTest, TheQueryIsIgnoredByRouting) {
    EXPECT_EQ(send({.path = "/v2/ratelimit.limit?a=b", .body = std::string(kGood)}).status, 200);
}

TEST_F(ApiTest, AWrongMethodIsRefusedWithAllow) {
    for (const std::string operation :
         {"limit", "multiLimit", "setOverride", "getOverride", "listOverrides", "deleteOverride"}) {
        const std::string path = "/v2/ratelimit." + operation;
        for (const std::string_view method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
            const Answer answer = send({.method = method, .path = path});
            EXPECT_EQ(answer.status, 405) << path << method;
            EXPECT_EQ(answer.field("Allow"), "POST");
            EXPECT_EQ(answer.body,
                      body_of({405,
                               "Method Not Allowed",
                               "This route takes POST only.",
                               "unkey/application/invalid_input"}));
        }
    }
    Api admin(context(ListenerRole::kAdmin));
    for (const std::string_view path : {"/healthz", "/v2/liveness", "/readyz", "/metrics"}) {
        const Answer answer = send(path == "/metrics" ? admin : api_, {.path = path});
        EXPECT_EQ(answer.status, 405) << path;
        EXPECT_EQ(answer.field("Allow"), "GET, HEAD");
        EXPECT_EQ(answer.body,
                  body_of({405,
                           "Method Not Allowed",
                           "This route takes GET, HEAD only.",
                           "unkey/application/invalid_input"}));
    }
}

TEST_F(ApiTest, AWrongContentTypeIsRefused) {
    for (const std::string_view type :
         {"text/plain", "application/x-www-form-urlencoded", "application/jsonl"}) {
        const Answer answer = send({.body = std::string(kGood),
                                    .headers = {{"Content-Type", std::string(type)}},
                                    .json = false});
        EXPECT_EQ(answer.status, 415) << type;
        EXPECT_EQ(answer.body,
                  body_of({415,
                           "Unsupported Media Type",
                           "The content type must be application/json.",
                           "unkey/application/invalid_input"}));
    }
    EXPECT_EQ(send({.body = std::string(kGood), .json = false}).status, 415);
    EXPECT_EQ(send({.body = std::string(kGood),
                    .headers = {{"content-type", "application/json;charset=UTF-8"}},
                    .json = false})
                  .status,
              200);
}

TEST_F(ApiTest, ABadRequestListsEveryFieldError) {
    const Answer answer = limit(R"({"namespace":"","limit":1.5,"duration":"60s","color":"red"})");
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(answer.field("Content-Type"), "application/json");
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"error":{"title":"Bad Request",)"
        R"("detail":"The request is not valid; errors lists each problem.","status":400,)"
        R"("type":"https://unkey.com/docs/errors/unkey/application/invalid_input","errors":[)"
        R"({"location":"body.namespace","message":"is empty; allowed: a string of 1 to 512 characters"},)"
        R"({"location":"body.limit","message":"is 1.5; allowed: a whole number from 0 to 9007199254740991"},)"
        R"({"location":"body.duration","message":"is a string; allowed: a whole number from 1000 to 31622400000"},)"
        R"({"location":"body.color","message":"is unknown; allowed: namespace, cost, duration, identifier, limit, debit"},)"
        R"({"location":"body.identifier","message":"is missing; allowed: a string of 1 to 512 characters"}]}})");
}

TEST_F(ApiTest, ASyntaxErrorNamesItsPosition) {
    const Answer answer = limit(R"({"namespace":"n",})");
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"error":{"title":"Bad Request",)"
        R"("detail":"The request is not valid; errors lists each problem.","status":400,)"
        R"("type":"https://unkey.com/docs/errors/unkey/application/invalid_input","errors":[)"
        R"({"location":"body","message":"is not JSON at byte 17; expected: a name in quotes"}]}})");
}

TEST_F(ApiTest, FieldErrorsBeyondTheMaximumAreSummedUp) {
    std::string body = "{";
    for (int i = 0; i < 2000; ++i) {
        body += "\"u" + std::to_string(i) + "\":0,";
    }
    const Answer answer = limit(body + "\"u\":0}");
    EXPECT_EQ(answer.status, 400);
    EXPECT_TRUE(
        answer.body.ends_with(R"(,{"location":"body","message":"has 1005 more problems"}]}})"))
        << answer.body.substr(answer.body.size() - 100);
    EXPECT_FALSE(find_json_fault(answer.body));
}

TEST_F(ApiTest, ProblemJsonIsSentIfAccepted) {
    const Answer problem = send({.body = "{", .headers = {{"Accept", "application/problem+json"}}});
    EXPECT_EQ(problem.field("Content-Type"), "application/problem+json");
    const Answer plain = send({.body = "{", .headers = {{"Accept", "application/json"}}});
    EXPECT_EQ(plain.field("Content-Type"), "application/json");
    EXPECT_EQ(problem.body, plain.body);
    const Answer good =
        send({.body = std::string(kGood), .headers = {{"Accept", "application/problem+json"}}});
    EXPECT_EQ(good.field("Content-Type"), "application/json") << "a decision is no problem";
}

TEST_F(ApiTest, WithoutTokensAuthorizationIsIgnored) {
    EXPECT_EQ(send({.body = std::string(kGood), .headers = {{"Authorization", "Bearer whatever"}}})
                  .status,
              200);
    EXPECT_EQ(send({.body = std::string(kGood), .headers = {{"Authorization", "Basic x"}}}).status,
              200);
}

TEST_F(ApiTest, HealthIsLiveInEveryState) {
    for (const Readiness readiness :
         {Readiness::kStarting, Readiness::kReady, Readiness::kDraining}) {
        readiness_ = readiness;
        const Answer answer = send({.method = "GET", .path = "/healthz", .json = false});
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.body, R"({"meta":{"requestId":"ID"},"data":{"status":"live"}})");
    }
}

TEST_F(ApiTest, LivenessAnswersLikeUnkey) {
    const Answer answer = send({.method = "GET", .path = "/v2/liveness", .json = false});
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, R"({"meta":{"requestId":"ID"},"data":{"message":"we're cooking"}})");
    EXPECT_EQ(send({.path = "/v2/liveness"}).status, 405);
}

TEST_F(ApiTest, ReadinessIs503WhileStartingAndDraining) {
    const auto ready = [this] { return send({.method = "GET", .path = "/readyz", .json = false}); };
    readiness_ = Readiness::kStarting;
    EXPECT_EQ(ready().status, 503);
    EXPECT_EQ(ready().body,
              body_of({503,
                       "Service Unavailable",
                       "The server is starting.",
                       "unkey/application/service_unavailable"}));
    readiness_ = Readiness::kReady;
    EXPECT_EQ(ready().status, 200);
    EXPECT_EQ(ready().body,
              R"({"meta":{"requestId":"ID"},"data":{"status":"ready","degraded":[]}})");
    EXPECT_EQ(send({.method = "HEAD", .path = "/readyz", .json = false}).status, 200);
    readiness_ = Readiness::kDraining;
    EXPECT_EQ(ready().status, 503);
    EXPECT_EQ(ready().body,
              body_of({503,
                       "Service Unavailable",
                       "The server is draining.",
                       "unkey/application/service_unavailable"}));
    EXPECT_EQ(limit(std::string(kGood)).status, 200) << "what still arrives is answered";
}

TEST_F(ApiTest, AForeignHostIsRefusedByALocalHostRule) {
    ApiContext local = context(ListenerRole::kPublic);
    local.hosts = HostRule::local({});
    Api api(local);  // The fixture's requests name the host "h".
    const Answer answer = send(api, {.body = std::string(kGood)});
    EXPECT_EQ(answer.status, 421);
    EXPECT_EQ(answer.body,
              body_of({421,
                       "Misdirected Request",
                       "The Host field names a host that this server does not answer for: it "
                       "listens on loopback. The setting allowed_hosts adds names.",
                       "unkey/application/invalid_input"}));
    EXPECT_EQ(send(api, {.method = "GET", .path = "/healthz", .json = false}).status, 421);
    EXPECT_NE(metrics_text().find("sluice_http_errors_total{kind=\"misdirected_request\"} 2"),
              std::string::npos);
    local.hosts = HostRule::local({"h"});
    Api other(local);
    EXPECT_EQ(send(other, {.body = std::string(kGood)}).status, 200);
}

TEST_F(ApiTest, MetricsAreServedByTheAdminListenerOnly) {
    const Answer answer = send({.method = "GET", .path = "/metrics", .json = false});
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.body,
              body_of({404,
                       "Not Found",
                       "This is served on the address that the setting admin_listen names.",
                       "unkey/application/invalid_input"}));
    Api admin(context(ListenerRole::kAdmin));
    for (const std::string_view path : {"/healthz", "/readyz", "/v1/ratelimits.limit"})
        EXPECT_EQ(send(admin, {.method = "GET", .path = path}).status, 404) << path;
}

TEST_F(ApiTest, MetricsAreTextForPrometheus) {
    Api admin(context(ListenerRole::kAdmin));
    const Answer answer = send(admin, {.method = "GET", .path = "/metrics", .json = false});
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_NE(answer.body.find("# TYPE sluice_decisions_total counter"), std::string::npos);
}

TEST_F(ApiTest, ProtocolErrorsHaveTheSameFormat) {
    Reply reply;
    reply.body() = "left over";
    api_.protocol_error({.status = 413, .detail = "The body is too \"large\"."}, reply);
    const Answer answer = answer_of(reply);
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.fields, "Content-Type: application/json\r\n");
    EXPECT_EQ(answer.body,
              body_of({413,
                       "Content Too Large",
                       R"(The body is too \"large\".)",
                       "user/bad_request/request_body_too_large"}));
    api_.protocol_error({.status = 413, .detail = "x", .accept = "application/problem+json"},
                        reply);
    EXPECT_EQ(answer_of(reply).fields, "Content-Type: application/problem+json\r\n");
    api_.protocol_error({.status = 400, .detail = "Bare LF."}, reply);
    EXPECT_EQ(
        answer_of(reply).body,
        R"({"meta":{"requestId":"ID"},"error":{"title":"Bad Request","detail":"Bare LF.","status":400,)"
        R"("type":"https://unkey.com/docs/errors/unkey/application/invalid_input","errors":[{"location":"request","message":"Bare LF."}]}})");
    for (const int status : {400, 408, 413, 417, 431, 500, 501, 503, 505, 418}) {
        api_.protocol_error({.status = status, .detail = "x"}, reply);
        EXPECT_EQ(reply.status(), status);
        EXPECT_FALSE(find_json_fault(reply.body())) << status;
    }
}

TEST_F(ApiTest, ErrorsAreCountedByKindAndRequestsByRoute) {
    limit("{");
    limit("{}");
    send({.path = "/nowhere"});
    send({.method = "GET"});
    send({.json = false});
    Reply reply;
    api_.protocol_error({.status = 400, .detail = "x"}, reply);
    using metrics::ErrorKind;
    const auto count = [this](ErrorKind kind) { return metrics_.thread(0).errors[kind].read(); };
    EXPECT_EQ(count(ErrorKind::kInvalidRequest), 2U);
    EXPECT_EQ(count(ErrorKind::kNotFound), 1U);
    EXPECT_EQ(count(ErrorKind::kMethodNotAllowed), 1U);
    EXPECT_EQ(count(ErrorKind::kUnsupportedMedia), 1U);
    EXPECT_EQ(count(ErrorKind::kMalformedHttp), 1U);
    const std::string text = metrics_text();
    EXPECT_NE(text.find(R"(sluice_http_request_duration_seconds_count{route="limit"} 4)"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(R"(sluice_http_request_duration_seconds_count{route="unknown"} 1)"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace sluice::http
