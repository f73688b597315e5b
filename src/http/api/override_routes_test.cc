#include "http/api/api_fixture.h"

namespace sluice::http {
namespace {

class OverrideRoutes : public ApiFixture {
  protected:
    Answer call(const std::string& operation, std::string body) {
        return post("/v2/ratelimit." + operation, std::move(body));
    }

    std::string set(const std::string& identifier, int limit_of = 5) {
        const Answer answer =
            call("setOverride",
                 R"({"namespace":"n","identifier":")" + identifier + R"(","limit":)" +
                     std::to_string(limit_of) + R"(,"duration":60000})");
        EXPECT_EQ(answer.status, 200) << answer.body;
        const std::string start = R"({"meta":{"requestId":"ID"},"data":{"overrideId":")";
        EXPECT_TRUE(answer.body.starts_with(start)) << answer.body;
        EXPECT_TRUE(answer.body.ends_with("\"}}")) << answer.body;
        return answer.body.substr(start.size(), answer.body.size() - start.size() - 3);
    }

    static std::string name(const std::string& identifier) {
        return R"({"namespace":"n","identifier":")" + identifier + R"("})";
    }

    static std::string entry(const std::string& id,
                             const std::string& identifier,
                             int limit_of = 5) {
        return R"({"overrideId":")" + id + R"(","identifier":")" + identifier + R"(","limit":)" +
               std::to_string(limit_of) + R"(,"duration":60000})";
    }
};

TEST_F(OverrideRoutes, SettingAgainKeepsTheId) {
    const std::string id = set("vip_*");
    EXPECT_EQ(set("vip_*", 7), id);
    EXPECT_NE(set("other"), id);
    EXPECT_EQ(call("getOverride", name("vip_*")).body,
              R"({"meta":{"requestId":"ID"},"data":)" + entry(id, "vip_*", 7) + "}");
}

TEST_F(OverrideRoutes, AMissingOverrideIsNotFound) {
    set("vip_*");
    const std::string body = body_of({404,
                                      "Not Found",
                                      "This override does not exist.",
                                      "unkey/data/ratelimit_override_not_found"});
    for (const std::string operation : {"getOverride", "deleteOverride"}) {
        const Answer answer = call(operation, name("vip_1"));
        EXPECT_EQ(answer.status, 404) << operation;
        EXPECT_EQ(answer.body, body) << operation;
    }
}

TEST_F(OverrideRoutes, AnOverrideCanBeSetAgainAfterDeletion) {
    const std::string request = R"({"namespace":"n","identifier":"a","limit":1,"duration":60000})";
    set("a", 50);
    EXPECT_NE(limit(request).body.find("\"limit\":50"), std::string::npos);
    const Answer deleted = call("deleteOverride", name("a"));
    EXPECT_EQ(deleted.status, 200);
    EXPECT_EQ(deleted.body, R"({"meta":{"requestId":"ID"},"data":{}})");
    EXPECT_EQ(limit(request).body.find("overrideId"), std::string::npos);
    EXPECT_EQ(call("getOverride", name("a")).status, 404);
    set("a", 60);
    EXPECT_NE(limit(request).body.find("\"limit\":60"), std::string::npos);
}

TEST_F(OverrideRoutes, AnUnknownNamespaceIsNotFound) {
    const Answer answer = call("listOverrides", R"({"namespace":"n"})");
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.body,
              body_of({404,
                       "Not Found",
                       "This namespace does not exist.",
                       "unkey/data/ratelimit_namespace_not_found"}));
}

TEST_F(OverrideRoutes, ANamespaceInUseWithoutOverridesHasAnEmptyList) {
    const std::string empty =
        R"({"meta":{"requestId":"ID"},"data":[],"pagination":{"hasMore":false}})";
    limit(R"({"namespace":"single","identifier":"i","limit":1,"duration":1000})");
    EXPECT_EQ(call("listOverrides", R"({"namespace":"single"})").body, empty);
    call("multiLimit", R"([{"namespace":"batch","identifier":"i","limit":1,"duration":1000}])");
    EXPECT_EQ(call("listOverrides", R"({"namespace":"batch"})").body, empty);
    set("a");
    call("deleteOverride", name("a"));
    EXPECT_EQ(call("listOverrides", R"({"namespace":"n"})").body, empty);
    EXPECT_EQ(call("listOverrides", R"({"namespace":"other"})").status, 404);
}

TEST_F(OverrideRoutes, ANamespaceWithOverridesIsKnown) {
    overrides_->set({"default", "stored", "i"}, {.limit = 1, .duration = std::chrono::seconds{1}})
        .value();
    EXPECT_EQ(call("listOverrides", R"({"namespace":"stored"})").status, 200);
}

TEST_F(OverrideRoutes, PagesFollowTheirCursors) {
    const std::string a = set("a");
    const std::string b = set("b");
    const std::string c = set("c");
    const Answer first = call("listOverrides", R"({"namespace":"n","limit":2})");
    const std::string start = R"({"meta":{"requestId":"ID"},"data":[)" + entry(a, "a") + "," +
                              entry(b, "b") + R"(],"pagination":{"hasMore":true,"cursor":")";
    ASSERT_TRUE(first.body.starts_with(start)) << first.body;
    const std::string cursor =
        first.body.substr(start.size(), first.body.size() - start.size() - 3);
    const Answer second =
        call("listOverrides", R"({"namespace":"n","limit":2,"cursor":")" + cursor + R"("})");
    EXPECT_EQ(second.body,
              R"({"meta":{"requestId":"ID"},"data":[)" + entry(c, "c") +
                  R"(],"pagination":{"hasMore":false}})");
    const Answer exact = call("listOverrides", R"({"namespace":"n","limit":3})");
    EXPECT_TRUE(exact.body.ends_with(R"(],"pagination":{"hasMore":false}})")) << exact.body;
}

TEST_F(OverrideRoutes, APageHasTenEntriesByDefault) {
    for (int i = 0; i < 11; ++i) {
        set("i" + std::to_string(i));
    }
    const Answer page = call("listOverrides", R"({"namespace":"n"})");
    EXPECT_NE(page.body.find("\"i9\""), std::string::npos);
    EXPECT_EQ(page.body.find("\"i10\""), std::string::npos);
    EXPECT_NE(page.body.find("\"hasMore\":true"), std::string::npos);
    for (const auto& [size, status] :
         {std::pair{"1", 200}, {"100", 200}, {"0", 400}, {"101", 400}, {"-1", 400}}) {
        EXPECT_EQ(
            call("listOverrides", R"({"namespace":"n","limit":)" + std::string(size) + "}").status,
            status)
            << size;
    }
}

TEST_F(OverrideRoutes, AnUnknownCursorIsAFieldError) {
    const Answer answer = call("listOverrides", R"({"namespace":"n","cursor":"nonsense"})");
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find(R"("errors":[{"location":"body.cursor","message":")"),
              std::string::npos)
        << answer.body;
    EXPECT_EQ(call("listOverrides", R"({"namespace":"n","cursor":null})").status, 400);
}

TEST_F(OverrideRoutes, AnEmptyCursorSelectsTheFirstPage) {
    const std::string id = set("a");
    EXPECT_EQ(call("listOverrides", R"({"namespace":"n","cursor":""})").body,
              R"({"meta":{"requestId":"ID"},"data":[)" + entry(id, "a") +
                  R"(],"pagination":{"hasMore":false}})");
}

TEST_F(OverrideRoutes, EachRouteAcceptsItsOwnFieldsOnly) {
    const Answer set_answer = call(
        "setOverride", R"({"namespace":"n","identifier":"i","limit":1,"duration":1000,"cost":1})");
    EXPECT_EQ(set_answer.status, 400);
    EXPECT_NE(
        set_answer.body.find(
            R"("errors":[{"location":"body.cost","message":"is unknown; allowed: namespace, duration, identifier, limit"}])"),
        std::string::npos)
        << set_answer.body;
    for (const std::string operation : {"getOverride", "deleteOverride"}) {
        const Answer answer = call(operation, R"({"namespace":"n","identifier":"i","limit":1})");
        EXPECT_NE(
            answer.body.find(
                R"({"location":"body.limit","message":"is unknown; allowed: namespace, identifier"})"),
            std::string::npos)
            << answer.body;
    }
    const Answer list = call("listOverrides", R"({"identifier":"i"})");
    EXPECT_NE(
        list.body.find(
            R"("errors":[{"location":"body.identifier","message":"is unknown; allowed: namespace, cursor, limit"},)"
            R"({"location":"body.namespace","message":"is missing; allowed: a string of 1 to 512 characters"}])"),
        std::string::npos)
        << list.body;
}

TEST_F(OverrideRoutes, AnIdentifierMayBeAnyText) {
    const std::string id = set(R"(a\"\\\n\u0000\u00e9*)");
    const Answer answer = call("getOverride", name(R"(a\"\\\n\u0000\u00e9*)"));
    EXPECT_EQ(
        answer.body,
        R"({"meta":{"requestId":"ID"},"data":)" + entry(id, "a\\\"\\\\\\n\\u0000\xC3\xA9*") + "}");
    const Answer decision = limit(
        R"({"namespace":"n","identifier":"a\"\\\n\u0000\u00e9\nmore","limit":1,"duration":60000})");
    EXPECT_NE(decision.body.find(id), std::string::npos) << decision.body;
}

TEST_F(OverrideRoutes, AStoreFailureDoesNotRevealThePath) {
    set("a");
    store_fails_ = Error{kStoreFailed, "/secret/path is full"};
    const std::string body = body_of({500,
                                      "Internal Server Error",
                                      "The override could not be stored.",
                                      "unkey/application/unexpected_error"});
    const Answer set_answer =
        call("setOverride", R"({"namespace":"n","identifier":"b","limit":1,"duration":1000})");
    EXPECT_EQ(set_answer.status, 500);
    EXPECT_EQ(set_answer.body, body);
    const Answer deleted = call("deleteOverride", name("a"));
    EXPECT_EQ(deleted.status, 500);
    EXPECT_EQ(deleted.body, body);
    EXPECT_EQ(call("getOverride", name("a")).status, 200) << "nothing changed";
    EXPECT_NE(metrics_text().find("sluice_override_writes_total"), std::string::npos);
    EXPECT_EQ(metrics_.thread(0).override_writes[metrics::Success::kFailed].read(), 2U);
    EXPECT_EQ(metrics_.thread(0).override_writes[metrics::Success::kOk].read(), 1U);
}

TEST_F(OverrideRoutes, AnUnavailableStoreIs503WithRetryAfter) {
    set("a");
    store_fails_ = Error{kStoreUnavailable, "db.internal:3306: nothing answers there"};
    const std::string body = body_of({503,
                                      "Service Unavailable",
                                      "The store of overrides does not answer. Try again later.",
                                      "unkey/application/service_unavailable"});
    for (const Answer& answer :
         {call("setOverride", R"({"namespace":"n","identifier":"b","limit":1,"duration":1000})"),
          call("deleteOverride", name("a"))}) {
        EXPECT_EQ(answer.status, 503);
        EXPECT_EQ(answer.body, body);
        EXPECT_EQ(answer.field("Retry-After"), "1");
    }
    EXPECT_EQ(call("getOverride", name("a")).status, 200) << "nothing changed";
    EXPECT_EQ(call("getOverride", name("b")).status, 404);
    store_fails_.reset();
    set("b");
}

TEST_F(OverrideRoutes, AFullNamespaceIsAFieldError) {
    for (std::size_t i = 0; i < overrides::kMaxSearchedPerNamespace; ++i)
        set("*a*" + std::to_string(i));
    const Answer answer =
        call("setOverride", R"({"namespace":"n","identifier":"*b*c","limit":1,"duration":1000})");
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(
        answer.body.find(R"("errors":[{"location":"body","message":"the namespace holds 100)"),
        std::string::npos)
        << answer.body;
}

TEST_F(OverrideRoutes, ACallAfterTheQueueIsClosedIsRefused) {
    override_changes_.close();
    const Answer answer =
        call("setOverride", R"({"namespace":"n","identifier":"b","limit":1,"duration":1000})");
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.field("Retry-After"), "1");
    EXPECT_EQ(call("deleteOverride", name("b")).status, 503);
}

}  // namespace
}  // namespace sluice::http
