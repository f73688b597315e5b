// Tokens and their permissions.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"api.login","identifier":"i","limit":100,"duration":2592000000})";

ServerOptions guarded() {
    return {.config = to_toml({.token = "full-token"}) +
                      to_toml({.token = "only-limit", .permissions = R"(["limit"])"}) +
                      to_toml({.token = "read-token", .permissions = R"(["read_override"])"}) +
                      to_toml({.token = "sets-token", .permissions = R"(["set_override"])"}) +
                      to_toml({.token = "dele-token", .permissions = R"(["delete_override"])"}) +
                      to_toml({.token = "apis-token", .namespaces = R"(["api.*", "web"])"}) +
                      to_toml({.token = "else-token", .workspace = "elsewhere"})};
}

class Tokens : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = std::make_unique<Server>(guarded()); }
    static void TearDownTestSuite() { server_.reset(); }

    static Answer ask(std::string_view token,
                      std::string_view path,
                      std::string_view body = kBody) {
        return server_->ask(path, body, bearing(token));
    }

    static inline std::unique_ptr<Server> server_;
};

TEST_F(Tokens, AMissingOrWrongOneIs401WithWwwAuthenticate) {
    const std::vector<Fields> presented = {
        {},
        bearing("wrong"),
        bearing(""),
        bearing("full-toke"),
        bearing("full-tokenx"),
        bearing(std::string(8000, 'x')),
        {{"Authorization", "Basic ZnVsbC10b2tlbjo="}},
        {{"Authorization", "full-token"}},
    };
    for (const Fields& fields : presented) {
        const Answer answer = server_->ask(kLimit, kBody, fields);
        expect_error(answer, 401);
        EXPECT_TRUE(answer.field("WWW-Authenticate").starts_with("Bearer"));
    }
}

TEST_F(Tokens, AreCheckedBeforeTheBody) {
    expect_error(server_->ask(kLimit, "nonsense"), 401);
    expect_error(ask("read-token", kLimit, "nonsense"), 403);
}

TEST_F(Tokens, TheSchemeIsReadInAnyCase) {
    expect_data(server_->ask(kLimit, kBody, {{"Authorization", "bearer full-token"}}));
}

TEST_F(Tokens, AreCheckedBefore100Continue) {
    const Fields waiting = {{"Expect", "100-continue"}, {"Content-Length", "60"}};
    const auto first_answer = [&](std::string_view path, const Fields& token) {
        Fields fields = waiting;
        fields.insert(fields.end(), token.begin(), token.end());
        return server_->connect().ask(post(path, "", fields));
    };
    for (const auto& [token, status] : {std::pair{Fields{}, 401}, {bearing("wrong"), 401}}) {
        const Answer refused = first_answer(kLimit, token);
        expect_error(refused, status);
        EXPECT_EQ(refused.field("Connection"), "close");
    }
    expect_error(first_answer("/nowhere", bearing("full-token")), 404);
    EXPECT_EQ(first_answer(kLimit, bearing("full-token")).status, 100);
}

TEST_F(Tokens, GrantExactlyTheirPermissions) {
    const std::vector<std::pair<std::string_view, std::string_view>> routes = {
        {kLimit, "only-limit"},
        {"/v2/ratelimit.multiLimit", "only-limit"},
        {"/v2/ratelimit.getOverride", "read-token"},
        {"/v2/ratelimit.listOverrides", "read-token"},
        {"/v2/ratelimit.setOverride", "sets-token"},
        {"/v2/ratelimit.deleteOverride", "dele-token"},
    };
    for (const auto& [route, owner] : routes) {
        for (const std::string_view token :
             {"only-limit", "read-token", "sets-token", "dele-token"}) {
            SCOPED_TRACE(std::string(route) + " with " + std::string(token));
            const Answer answer = ask(token, route, "nonsense");
            expect_error(answer, token == owner ? 400 : 403);
        }
        expect_error(ask("full-token", route, "nonsense"), 400);
    }
}

TEST_F(Tokens, ReachOnlyTheirNamespaces) {
    const auto body = [](const std::string& name_space) {
        return R"({"namespace":")" + name_space +
               R"(","identifier":"i","limit":1,"duration":1000})";
    };
    EXPECT_EQ(ask("apis-token", kLimit, body("api.login")).status, 200);
    EXPECT_EQ(ask("apis-token", kLimit, body("web")).status, 200);
    expect_error(ask("apis-token", kLimit, body("web2")), 403);
    expect_error(ask("apis-token", kLimit, body("API.login")), 403);
    expect_error(ask("apis-token", "/v2/ratelimit.setOverride", body("other")), 403);
    expect_error(ask("apis-token", "/v2/ratelimit.listOverrides", R"({"namespace":"other"})"), 403);
    expect_error(ask("apis-token",
                     "/v2/ratelimit.multiLimit",
                     "[" + body("web") + "," + body("other") + "]"),
                 403);
    const Answer peek =
        ask("apis-token",
            "/v2/ratelimit.limit",
            R"({"namespace":"web","identifier":"i","limit":9,"duration":2592000000,"cost":0})");
    EXPECT_EQ(expect_data(peek).at("remaining").as_int64(), 9) << "the refused batch spent nothing";
}

TEST_F(Tokens, OfDifferentWorkspacesShareNothing) {
    constexpr std::string_view kOne =
        R"({"namespace":"w","identifier":"i","limit":1,"duration":2592000000})";
    EXPECT_TRUE(expect_data(ask("full-token", kLimit, kOne)).at("success").as_bool());
    EXPECT_TRUE(expect_data(ask("else-token", kLimit, kOne)).at("success").as_bool());
    expect_data(ask("full-token", "/v2/ratelimit.setOverride", kOne));
    expect_error(
        ask("else-token", "/v2/ratelimit.getOverride", R"({"namespace":"w","identifier":"i"})"),
        404);
    const Answer list = ask("else-token", "/v2/ratelimit.listOverrides", R"({"namespace":"w"})");
    EXPECT_EQ(expect_data(list, "pagination"), json("[]"));
}

TEST_F(Tokens, AreNotRequiredByProbesNorLogged) {
    EXPECT_EQ(server_->get("/healthz").status, 200);
    EXPECT_EQ(server_->get("/readyz").status, 200);
    ask("full-token", kLimit);
    ask("a-secret-that-is-wrong", kLimit);
    const std::string log = server_->program().output();
    EXPECT_EQ(log.find("full-token"), std::string::npos);
    EXPECT_EQ(log.find("a-secret-that-is-wrong"), std::string::npos);
}

TEST(TokenFlag, GivesATokenThatMayDoEverything) {
    const Server server({.flags = {"--token", "first-secret", "--token", "second-secret"}});
    expect_error(server.ask(kLimit, kBody), 401);
    for (const std::string token : {"first-secret", "second-secret"}) {
        expect_data(server.ask(kLimit, kBody, bearing(token)));
        expect_data(server.ask("/v2/ratelimit.setOverride", kBody, bearing(token)));
    }
}

TEST(NoToken, IgnoresATokenThatIsSent) {
    const Server server;
    expect_data(server.ask(kLimit, kBody));
    expect_data(server.ask(kLimit, kBody, bearing("whatever")));
}

}  // namespace
}  // namespace sluice::server_test
