// Tests the routes that observe a node, and the streams of events.
#include <string>

#include <gtest/gtest.h>

#include "http/api/api_fixture.h"

namespace sluice::http {
namespace {

config::Token token(const std::string& name,
                    config::Permissions permissions,
                    const std::string& workspace = "default",
                    std::vector<std::string> namespaces = {"*"}) {
    return {.name = name,
            .sha256 = sha256_of(name),
            .workspace = workspace,
            .namespaces = std::move(namespaces),
            .permissions = permissions};
}

class NodeRoutes : public ApiFixture {
  protected:
    explicit NodeRoutes(std::vector<config::Token> tokens = {}) : ApiFixture(std::move(tokens)) {
        ApiContext counted = context(ListenerRole::kPublic);
        counted.recorder = &recorder_;
        counted_.emplace(counted);
        ApiContext admin = context(ListenerRole::kAdmin);
        admin.observer = &observer_;
        admin_.emplace(admin);
    }

    static Sent with_token(Sent sent, const std::string& secret) {
        if (!secret.empty()) sent.headers.emplace_back("Authorization", "Bearer " + secret);
        return sent;
    }
    // Decides on the public listener.
    void limit_as(const std::string& secret, const std::string& name_space, int times) {
        for (int i = 0; i < times; ++i) {
            send(*counted_,
                 with_token({.body = R"({"namespace":")" + name_space +
                                     R"(","identifier":"i","limit":2,"duration":60000})"},
                            secret));
        }
    }
    void end_second() {
        observer_.activity().collect(recorder_);
        observer_.end_second();
    }
    Answer get(std::string_view path, const std::string& secret = "") {
        return send(*admin_, with_token({.method = "GET", .path = path, .json = false}, secret));
    }
    Answer top(std::string body, const std::string& secret = "") {
        return send(*admin_,
                    with_token({.path = "/v2/ratelimit.topKeys", .body = std::move(body)}, secret));
    }
    Answer open_stream(const std::string& secret = "") {
        const std::string authorization =
            secret.empty() ? "" : "Authorization: Bearer " + secret + "\r\n";
        const std::string head =
            "GET /v2/node.events HTTP/1.1\r\nHost: h\r\n" + authorization + "\r\n";
        RequestView request;
        HeadFacts facts;
        EXPECT_EQ(parse_head(head, request, facts).status, 0);
        exchanges_.push_back(std::make_unique<PendingExchange>());
        exchanges_.back()->start();
        Reply reply;
        admin_->handle(request, reply, Completion(exchanges_.back().get()));
        return answer_of(reply);
    }
    static bool has(const Answer& answer, std::string_view text) {
        return answer.body.find(text) != std::string::npos;
    }

    insight::NodeStatus status_{.version = "1.2.3",
                                .node = "me",
                                .region = "eu",
                                .listen = {},
                                .admin_listen = {},
                                .grpc_listen = {}};
    insight::Observer observer_{{.seed = 7,
                                 .read_status = [this] { return status_; },
                                 .read_latency = [] { return insight::LatencyCounts{}; }}};
    insight::Recorder recorder_{observer_.activity().hash()};
    std::vector<std::unique_ptr<PendingExchange>> exchanges_;  // of streams, which end before
    std::optional<Api> counted_;
    std::optional<Api> admin_;
};

TEST_F(NodeRoutes, TopKeysListsDeniedKeys) {
    limit_as("", "login", 5);
    limit_as("", "mail", 3);
    end_second();
    const Answer all = top("{}");
    EXPECT_EQ(all.status, 200);
    EXPECT_TRUE(has(all, R"("window":60000,"by":"denials","total":4,"partial":false,"nodes":1)"))
        << all.body;
    const std::size_t login = all.body.find(
        R"({"namespace":"login","identifier":"i","denials":3,"denialsError":0,"spend":2,)");
    const std::size_t mail = all.body.find(R"({"namespace":"mail","identifier":"i","denials":1,)");
    EXPECT_LT(login, mail) << all.body;
    const Answer one = top(R"({"namespace":"mail","by":"spend","window":3600000})");
    EXPECT_TRUE(has(one, R"("by":"spend","total":2,)")) << one.body;
    EXPECT_FALSE(has(one, "login")) << one.body;
}

TEST_F(NodeRoutes, TopKeysNamesWhatIsWrong) {
    EXPECT_TRUE(has(top(R"({"window":60001})"),
                    "is 60001; allowed: 60000, 600000 or 3600000 (milliseconds)"));
    EXPECT_TRUE(has(top(R"({"by":"luck"})"), "is unknown; allowed: denials or spend"));
    EXPECT_TRUE(has(top(R"({"limit":0})"), "allowed: a whole number from 1 to 500"));
    EXPECT_EQ(top("").status, 400);
}

TEST_F(NodeRoutes, DecisionsOfTheAdminListenerAreNotCounted) {
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(send(*admin_,
                       {.body = R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})"})
                      .status,
                  200);
    }
    end_second();
    EXPECT_TRUE(has(top("{}"), R"("keys":[])"));
}

TEST_F(NodeRoutes, BatchesAreCountedItemByItem) {
    send(*counted_,
         {.path = "/v2/ratelimit.multiLimit",
          .body = R"([{"namespace":"n","identifier":"a","limit":5,"duration":60000,"cost":2},)"
                  R"({"namespace":"n","identifier":"b","limit":0,"duration":60000}])"});
    end_second();
    const Answer answer = top("{}");
    EXPECT_TRUE(has(answer, R"("identifier":"b","denials":1)")) << answer.body;
    EXPECT_FALSE(has(answer, R"("identifier":"a")")) << "it passed, and nothing was spent";
    EXPECT_TRUE(has(top(R"({"by":"spend"})"), R"("keys":[])"));
}

TEST_F(NodeRoutes, TrafficHasOneNumberPerStep) {
    limit_as("", "login", 5);
    end_second();
    const Answer answer = get("/v2/node.traffic");
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(has(answer, R"("step":1,"passed":[0,)")) << answer.body;
    EXPECT_TRUE(has(answer, R"(,2],"denied":[0,)")) << answer.body;
    EXPECT_TRUE(has(answer, R"("namespaces":[{"namespace":"login","passed":[0,)")) << answer.body;
}

TEST_F(NodeRoutes, StatusAndFleetDescribeTheNode) {
    status_.origin.attached = true;
    status_.global.since_import = std::chrono::milliseconds{1234};
    status_.overrides_version = 7;
    const Answer status = get("/v2/node.status");
    EXPECT_TRUE(has(status, R"("version":"1.2.3","node":"me","region":"eu","state":"starting")"))
        << status.body;
    EXPECT_TRUE(has(status, R"("origin":{"attached":true,)")) << status.body;
    EXPECT_TRUE(has(status, R"("importAge":1234})")) << status.body;
    status_.bus.unavailable = true;
    const Answer fleet = get("/v2/node.fleet");
    EXPECT_TRUE(has(fleet, R"("overridesVersion":7,"nodes":[{"node":"me","self":true,"age":0,)"))
        << fleet.body;
    EXPECT_TRUE(has(fleet, R"("degraded":["bus"],)")) << fleet.body;
    EXPECT_TRUE(has(fleet, R"("regions":[])")) << fleet.body;
}

TEST_F(NodeRoutes, AreNotOnThePublicListener) {
    for (const std::string_view path : {"/v2/node.status", "/v2/node.caller", "/v2/node.events"})
        EXPECT_EQ(send({.method = "GET", .path = path, .json = false}).status, 404) << path;
    EXPECT_EQ(send({.path = "/v2/ratelimit.topKeys", .body = "{}"}).status, 404);
}

TEST_F(NodeRoutes, EventsAreRefusedWhenThereAreTooMany) {
    for (std::size_t i = 0; i < EventStreams::kMost; ++i) {
        const Answer answer = open_stream();
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.body, "retry: 1000\n\n");
    }
    const Answer refused = open_stream();
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.field("Retry-After"), "5");
}

// A node whose region has another one.
class RegionRoutes : public NodeRoutes {
  protected:
    RegionRoutes() {
        ApiContext admin = context(ListenerRole::kAdmin);
        admin.observer = &shared_;
        admin_.emplace(admin);
        limit_as("", "login", 5);
        observer_.activity().collect(recorder_);
        observer_.end_second();
    }

    // The other one's report, as the origin has it.
    std::string note() {
        insight::NodeReport report;
        report.version = "other";
        report.windows[0] = observer_.activity().report(
            insight::Window::kMinute, 10, [](const insight::ShownNamespace&) { return true; });
        return encode(report);
    }

    int reads_ = 0;
    insight::Observer shared_{
        {.seed = 8,
         .read_status = [this] { return status_; },
         .read_latency = [] { return insight::LatencyCounts{}; },
         .exchange =
             [this](const std::string&, const insight::Observer::Options::Notes& notes) {
                 if (!notes) return;
                 ++reads_;
                 notes(std::vector<NodeNote>{{.node = "other", .age = {}, .text = note()}});
             }}};
};

TEST_F(RegionRoutes, ReadTheReportsOfTheRegionForTheFirstCall) {
    const Answer first = top("{}");
    EXPECT_TRUE(has(first, R"("total":3,"partial":false,"nodes":2)")) << first.body;
    EXPECT_TRUE(has(get("/v2/node.fleet"), R"("node":"other","self":false)"));
    EXPECT_EQ(reads_, 1);
}

class GuardedNodeRoutes : public NodeRoutes {
  protected:
    GuardedNodeRoutes()
        : NodeRoutes({token("all", config::kAllPermissions),
                      token("limit", {.limit = true}),
                      token("metrics", {.read_metrics = true}),
                      token("keys", {.read_keys = true}),
                      token("some", config::kAllPermissions, "default", {"n*"}),
                      token("other", config::kAllPermissions, "elsewhere")}) {}
};

TEST_F(GuardedNodeRoutes, NeedATokenWithThePermission) {
    for (const std::string_view path :
         {"/v2/node.status", "/v2/node.traffic", "/v2/node.fleet", "/v2/node.events"}) {
        EXPECT_EQ(get(path).status, 401) << path;
        EXPECT_EQ(get(path, "wrong").status, 401) << path;
        EXPECT_EQ(get(path, "limit").status, 403) << path;
    }
    EXPECT_EQ(get("/v2/node.status", "metrics").status, 200);
    EXPECT_EQ(top("{}").status, 401);
    EXPECT_EQ(top("{}", "metrics").status, 403);
    EXPECT_EQ(top("{}", "keys").status, 200);
    EXPECT_EQ(get("/v2/node.status", "keys").status, 403);
    EXPECT_EQ(get("/metrics").status, 200) << "on loopback";
    EXPECT_EQ(get("/v2/node.caller").status, 401);
    EXPECT_TRUE(has(get("/v2/node.caller", "limit"),
                    R"("tokensRequired":true,"token":"limit","workspace":"default",)"
                    R"("namespaces":["*"],"permissions":["limit"])"));
}

TEST_F(GuardedNodeRoutes, ShowACallerItsOwnWorkspaceOnly) {
    limit_as("all", "login", 5);
    limit_as("other", "secret", 4);
    end_second();
    const Answer mine = top("{}", "all");
    EXPECT_TRUE(has(mine, R"("total":3,)")) << mine.body;
    EXPECT_FALSE(has(mine, "secret")) << mine.body;
    EXPECT_TRUE(has(top("{}", "other"), R"("total":2,)"));
    const Answer traffic = get("/v2/node.traffic", "all");
    EXPECT_FALSE(has(traffic, "secret")) << traffic.body;
    EXPECT_TRUE(has(traffic, ",4],\"denied\"")) << "the sums are those of the node";
}

// Whether a token covers a namespace can't be derived from a name that is cut.
TEST_F(GuardedNodeRoutes, ShowANamespaceThatIsCutToTokensThatCoverAll) {
    const std::string start(insight::kMaxShownBytes, 'n');
    limit_as("all", start, 5);
    limit_as("all", start + "-and-more", 5);
    end_second();
    EXPECT_TRUE(has(top("{}", "all"), R"("total":6,)"));
    const std::string filter = R"({"namespace":")" + start + "\"}";
    for (const std::string& body : {std::string("{}"), filter})
        EXPECT_TRUE(has(top(body, "some"), R"("total":3,)")) << top(body, "some").body;
    EXPECT_TRUE(has(get("/v2/node.traffic?seconds=1", "some"), R"("denied":[3]}])"));
}

TEST_F(GuardedNodeRoutes, OneTokenCanNotTakeAllStreams) {
    for (std::size_t i = 0; i < EventStreams::kMostPerToken; ++i)
        EXPECT_EQ(open_stream("metrics").status, 200);
    const Answer refused = open_stream("metrics");
    EXPECT_EQ(refused.status, 503);
    EXPECT_TRUE(has(refused, "This token has as many streams open as are allowed: 16."));
    EXPECT_EQ(open_stream("all").status, 200);
}

TEST_F(GuardedNodeRoutes, EventsShowWhatTheTokenMaySee) {
    limit_as("all", "login", 5);
    limit_as("other", "secret", 4);
    end_second();
    const auto event_of = [&](const std::string& secret) {
        const TokenSet tokens(std::vector{token("all", config::kAllPermissions),
                                          token("metrics", {.read_metrics = true})});
        std::string text;
        write_event(text, observer_, *tokens.find(secret));
        return text;
    };
    const std::string all = event_of("all");
    EXPECT_TRUE(all.starts_with("event: second\ndata: {\"now\":")) << all;
    EXPECT_TRUE(all.ends_with("}\n\n")) << all;
    EXPECT_EQ(all.find("secret"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("namespaces":[{"namespace":"login","passed":2,"denied":3}])"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find(R"("topKeys":{)"), std::string::npos) << all;
    EXPECT_NE(all.find(R"("identifier":"i")"), std::string::npos) << all;
    const std::string metrics = event_of("metrics");
    EXPECT_EQ(metrics.find("topKeys"), std::string::npos) << metrics;
    EXPECT_EQ(metrics.find(R"("identifier")"), std::string::npos) << metrics;
}

TEST_F(GuardedNodeRoutes, StreamsEndWithTheirToken) {
    const TokenSet before(std::vector{token("all", config::kAllPermissions),
                                      token("metrics", {.read_metrics = true})});
    EventStreams streams;
    Reply reply;
    for (const char* secret : {"all", "metrics", "metrics"}) {
        exchanges_.push_back(std::make_unique<PendingExchange>());
        exchanges_.back()->start();
        streams.open(reply, Completion(exchanges_.back().get()), sha256_of(secret));
    }
    streams.send(observer_, before);
    EXPECT_EQ(streams.size(), 3U);
    streams.send(observer_,
                 TokenSet(std::vector{token("all", {.limit = true, .read_keys = true}),
                                      token("metrics", {.read_metrics = true})}));
    EXPECT_EQ(streams.size(), 2U) << "one token lost the permission";
    streams.send(observer_, TokenSet(std::vector{token("all", config::kAllPermissions)}));
    EXPECT_EQ(streams.size(), 0U) << "the other one was removed";
}

TEST_F(GuardedNodeRoutes, OverrideLogNamesTheToken) {
    const auto post_as = [&](const std::string& secret, std::string_view path, std::string body) {
        return send(with_token({.path = path, .body = std::move(body)}, secret));
    };
    EXPECT_EQ(post_as("all",
                      "/v2/ratelimit.setOverride",
                      R"({"namespace":"n","identifier":"a*","limit":5,"duration":1000})")
                  .status,
              200);
    // The fixture's store keeps no changes; the stores' own tests show that they do.
    const Answer log = post_as("all", "/v2/ratelimit.overrideLog", "{}");
    EXPECT_TRUE(has(log, R"("data":{"changes":[],"pagination":{"hasMore":false}})")) << log.body;
    EXPECT_EQ(post_as("limit", "/v2/ratelimit.overrideLog", "{}").status, 403);
    EXPECT_TRUE(has(post_as("all", "/v2/ratelimit.overrideLog", R"({"cursor":"x"})"),
                    "is none that an earlier page carried"));
}

}  // namespace
}  // namespace sluice::http
