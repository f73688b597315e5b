#include <array>

#include "http/api/api_fixture.h"

namespace sluice::http {
namespace {

config::Token token(const std::string& secret, const config::Permissions& permissions) {
    return {.name = secret,
            .sha256 = sha256_of(secret),
            .workspace = "w",
            .namespaces = {"*"},
            .permissions = permissions};
}

std::vector<config::Token> all_tokens() {
    std::vector<config::Token> tokens = {
        token("limit", {.limit = true}),
        token("read_override", {.read_override = true}),
        token("set_override", {.set_override = true}),
        token("delete_override", {.delete_override = true}),
        token("read_metrics", {.read_metrics = true}),
        token("nothing", {}),
        token("all", config::kAllPermissions),
        token("mail", config::kAllPermissions),
        token("elsewhere", config::kAllPermissions),
    };
    tokens[7].namespaces = {"mail.*", "login"};
    tokens[8].workspace = "other";
    return tokens;
}

class Authorisation : public ApiFixture {
  protected:
    Authorisation() : ApiFixture(all_tokens()) {}

    Answer call(std::string_view secret, const std::string& operation, std::string body) {
        return send({.path = "/v2/ratelimit." + operation,
                     .body = std::move(body),
                     .headers = {{"Authorization", "Bearer " + std::string(secret)},
                                 {"X-Test-Time", std::to_string(kNow)}}});
    }
};

constexpr std::string_view kDecision =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";
constexpr std::string_view kName = R"({"namespace":"n","identifier":"i"})";

TEST_F(Authorisation, AMissingTokenIsAnsweredWithTheScheme) {
    const Answer answer = send({.body = std::string(kDecision)});
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(answer.field("WWW-Authenticate"), R"(Bearer realm="sluice")");
    EXPECT_EQ(
        answer.body,
        body_of(
            {401, "Unauthorized", "A bearer token is required.", "unkey/authentication/missing"}));
}

TEST_F(Authorisation, WithoutTokensAProxyDoesNotAllowForeignHosts) {
    ApiContext proxied = context(ListenerRole::kPublic);
    proxied.hosts = HostRule::proxied({});
    Api api(proxied);  // The fixture's requests name the host "h".
    const Sent sent{.body = std::string(kDecision), .headers = {{"Authorization", "Bearer all"}}};
    EXPECT_EQ(send(api, sent).status, 200);
    tokens_.replace({});
    EXPECT_EQ(send(api, sent).status, 421) << "also after a reload that removes the tokens";
}

TEST_F(Authorisation, AWrongTokenIsRefused) {
    const std::string unknown = "unkey/authentication/key_not_found";
    const std::string malformed = "unkey/authentication/malformed";
    for (const auto& [value, type] :
         std::vector<std::pair<std::string, std::string>>{{"Bearer wrong", unknown},
                                                          {"Bearer", malformed},
                                                          {"Bearer ", malformed},
                                                          {"Basic limit", malformed},
                                                          {"limit", malformed},
                                                          {"Bearer limit limit", unknown},
                                                          {"Bearer LIMIT", unknown},
                                                          {"", malformed}}) {
        const Answer answer =
            send({.body = std::string(kDecision), .headers = {{"Authorization", value}}});
        EXPECT_EQ(answer.status, 401) << value;
        EXPECT_EQ(answer.field("WWW-Authenticate"),
                  R"(Bearer realm="sluice", error="invalid_token")");
        EXPECT_EQ(answer.body,
                  body_of({401, "Unauthorized", "The bearer token is not valid.", type}));
    }
}

TEST_F(Authorisation, EachRouteNeedsItsPermission) {
    struct Row {
        std::string operation;
        std::string permission;
        std::string_view body;
    };
    const std::string batch = "[" + std::string(kDecision) + "]";
    const std::string inspection = R"({"namespace":"n","identifier":"i","duration":1000})";
    for (const Row& row : {Row{"limit", "limit", kDecision},
                           Row{"multiLimit", "limit", batch},
                           Row{"inspect", "limit", inspection},
                           Row{"setOverride", "set_override", kDecision},
                           Row{"getOverride", "read_override", kName},
                           Row{"listOverrides", "read_override", R"({"namespace":"n"})"},
                           Row{"overrideLog", "read_override", R"({"namespace":"n"})"},
                           Row{"deleteOverride", "delete_override", kName}}) {
        for (const std::string secret :
             {"limit", "read_override", "set_override", "delete_override", "nothing", "all"}) {
            overrides_->set({"w", "n", "i"}, {.limit = 1, .duration = std::chrono::seconds{1}})
                .value();
            const Answer answer = call(secret, row.operation, std::string(row.body));
            const bool allowed = secret == row.permission || secret == "all";
            EXPECT_EQ(answer.status, allowed ? 200 : 403) << row.operation << " with " << secret;
            if (allowed) continue;
            EXPECT_EQ(answer.body,
                      body_of({403,
                               "Forbidden",
                               "The token lacks the permission " + row.permission + ".",
                               "unkey/authorization/insufficient_permissions"}));
            EXPECT_EQ(answer.field("WWW-Authenticate"), "none");
        }
    }
}

TEST_F(Authorisation, ATokenCoversItsNamespacesOnly) {
    const auto in = [](const std::string& name_space, const std::string& rest) {
        return R"({"namespace":")" + name_space + "\"" + rest + "}";
    };
    const std::string decision = R"(,"identifier":"i","limit":1,"duration":1000)";
    const std::string forbidden = body_of({403,
                                           "Forbidden",
                                           "The token does not cover this namespace.",
                                           "unkey/authorization/insufficient_permissions"});
    for (const auto& [operation, rest] : {std::pair<std::string, std::string>{"limit", decision},
                                          {"setOverride", decision},
                                          {"getOverride", R"(,"identifier":"i")"},
                                          {"listOverrides", ""},
                                          {"deleteOverride", R"(,"identifier":"i")"}}) {
        EXPECT_EQ(call("mail", operation, in("mail.out", rest)).status, 200) << operation;
        const Answer answer = call("mail", operation, in("mail", rest));
        EXPECT_EQ(answer.status, 403) << operation;
        EXPECT_EQ(answer.body, forbidden) << operation;
    }
    const Answer batch = call(
        "mail", "multiLimit", "[" + in("login", decision) + "," + in("billing", decision) + "]");
    EXPECT_EQ(batch.status, 403);
    EXPECT_EQ(batch.body, forbidden);
    EXPECT_NE(call("mail", "limit", in("login", decision)).body.find("\"success\":true"),
              std::string::npos)
        << "the refused batch spent nothing";
}

TEST_F(Authorisation, AnInspectionNamesTheOverrideToThoseWhoMayReadIt) {
    overrides_->set({"w", "n", "i*"}, {.limit = 7, .duration = std::chrono::seconds{1}}).value();
    const std::string inspection = R"({"namespace":"n","identifier":"i","duration":1000})";
    const std::string pattern = R"("identifier":"i*")";
    EXPECT_NE(call("all", "inspect", inspection).body.find(pattern), std::string::npos);
    const Answer answer = call("limit", "inspect", inspection);
    EXPECT_EQ(answer.body.find("\"override\""), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find(R"("verdict":{"limit":7,)"), std::string::npos) << answer.body;
}

TEST_F(Authorisation, WorkspacesAreIsolated) {
    EXPECT_NE(call("all", "limit", std::string(kDecision)).body.find("\"success\":true"),
              std::string::npos);
    EXPECT_NE(call("all", "limit", std::string(kDecision)).body.find("\"success\":false"),
              std::string::npos);
    EXPECT_NE(call("elsewhere", "limit", std::string(kDecision)).body.find("\"success\":true"),
              std::string::npos);
    EXPECT_EQ(call("all", "setOverride", std::string(kDecision)).status, 200);
    EXPECT_EQ(call("all", "getOverride", std::string(kName)).status, 200);
    EXPECT_EQ(call("elsewhere", "getOverride", std::string(kName)).status, 404);
    EXPECT_EQ(call("elsewhere", "deleteOverride", std::string(kName)).status, 404);
    EXPECT_EQ(call("elsewhere", "limit", std::string(kDecision)).body.find("overrideId"),
              std::string::npos);
}

TEST_F(Authorisation, TheTokenIsCheckedBeforeTheBodyAndAfterTheRoute) {
    EXPECT_EQ(send({.body = "{", .json = false}).status, 401);
    EXPECT_EQ(send({.path = "/nowhere"}).status, 404);
    EXPECT_EQ(send({.method = "GET"}).status, 405);
    EXPECT_EQ(call("nothing", "limit", "{").status, 403);
}

TEST_F(Authorisation, CheckHeadAppliesTheSameChecks) {
    const auto status =
        [&](std::string_view method, std::string_view path, const std::string& fields) {
            const std::string head = std::string(method) + " " + std::string(path) +
                                     " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
            RequestView request;
            HeadFacts facts;
            EXPECT_EQ(parse_head(head, request, facts).status, 0) << head;
            Reply reply;
            return api_.check_head(request, reply) ? 100 : answer_of(reply).status;
        };
    const std::string json = "Content-Type: application/json\r\n";
    const std::string path = "/v2/ratelimit.limit";
    EXPECT_EQ(status("POST", path, json + "Authorization: Bearer limit\r\n"), 100);
    EXPECT_EQ(status("POST", path, json), 401);
    EXPECT_EQ(status("POST", path, json + "Authorization: Bearer wrong\r\n"), 401);
    EXPECT_EQ(status("POST", path, json + "Authorization: Bearer nothing\r\n"), 403);
    EXPECT_EQ(status("POST", path, "Authorization: Bearer limit\r\n"), 415);
    EXPECT_EQ(status("POST", "/nowhere", json + "Authorization: Bearer limit\r\n"), 404);
    EXPECT_EQ(status("PUT", path, json + "Authorization: Bearer limit\r\n"), 405);
}

TEST_F(Authorisation, ProbesNeedNoToken) {
    for (const std::string_view path : {"/healthz", "/readyz"}) {
        EXPECT_EQ(send({.method = "GET", .path = path, .json = false}).status, 200) << path;
    }
}

TEST_F(Authorisation, MetricsNeedATokenUnlessOnLoopback) {
    const Sent scrape{.method = "GET", .path = "/metrics", .json = false};
    Api local(context(ListenerRole::kAdmin));
    EXPECT_EQ(send(local, scrape).status, 200);
    Api open(context(ListenerRole::kProtectedAdmin));
    const Answer refused = send(open, scrape);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.field("WWW-Authenticate"), R"(Bearer realm="sluice")");
    for (const auto& [secret, status] : {std::pair{"wrong", 401},
                                         {"limit", 403},
                                         {"nothing", 403},
                                         {"read_metrics", 200},
                                         {"all", 200}}) {
        Sent with_token = scrape;
        with_token.headers = {{"Authorization", "Bearer " + std::string(secret)}};
        EXPECT_EQ(send(open, with_token).status, status) << secret;
    }
}

TEST_F(Authorisation, AReloadTakesEffectWithTheNextRequest) {
    EXPECT_EQ(call("limit", "limit", std::string(kDecision)).status, 200);
    tokens_.replace(std::vector{token("new", {.limit = true})});
    EXPECT_EQ(call("limit", "limit", std::string(kDecision)).status, 401);
    EXPECT_EQ(call("new", "limit", std::string(kDecision)).status, 200);
}

}  // namespace
}  // namespace sluice::http
