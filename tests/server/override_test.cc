// The four routes for overrides, and their effect on decisions.
#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kSet = "/v2/ratelimit.setOverride";
constexpr std::string_view kGet = "/v2/ratelimit.getOverride";
constexpr std::string_view kList = "/v2/ratelimit.listOverrides";
constexpr std::string_view kDelete = "/v2/ratelimit.deleteOverride";

std::string name(const std::string& name_space, const std::string& identifier) {
    return R"({"namespace":")" + name_space + R"(","identifier":")" + identifier + R"("})";
}

std::string grant(const std::string& name_space, const std::string& identifier, int limit) {
    return R"({"namespace":")" + name_space + R"(","identifier":")" + identifier + R"(","limit":)" +
           std::to_string(limit) + R"(,"duration":2592000000})";
}

class Overrides : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = std::make_unique<Server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    static std::string set(const std::string& name_space,
                           const std::string& identifier,
                           int limit) {
        const auto data = expect_data(server_->ask(kSet, grant(name_space, identifier, limit)));
        EXPECT_EQ(names_of(data), std::vector<std::string>{"overrideId"});
        return std::string(data.at("overrideId").as_string());
    }

    static boost::json::value decide(const std::string& name_space, const std::string& identifier) {
        return expect_data(server_->ask(kLimit, grant(name_space, identifier, 3)));
    }

    // The override that applied; empty if none did.
    static std::string applied(const std::string& name_space, const std::string& identifier) {
        const auto data = decide(name_space, identifier);
        const auto* id = data.as_object().if_contains("overrideId");
        return id == nullptr ? "" : std::string(id->as_string());
    }

    static inline std::unique_ptr<Server> server_;
};

// The longest duration that is allowed, beyond 32 bits of milliseconds.
TEST_F(Overrides, MayLastAYear) {
    expect_data(server_->ask(
        kSet, R"({"namespace":"year","identifier":"a","limit":9,"duration":31622400000})"));
    const auto data = decide("year", "a");
    EXPECT_EQ(data.at("limit").as_int64(), 9);
    EXPECT_EQ(data.at("reset").as_int64() % 31'622'400'000, 0);
}

TEST_F(Overrides, ApplyFromTheNextRequestOn) {
    EXPECT_EQ(decide("next", "a").at("limit").as_int64(), 3);
    const std::string id = set("next", "a", 100);
    const auto data = decide("next", "a");
    EXPECT_EQ(data.at("limit").as_int64(), 100);
    EXPECT_EQ(data.at("remaining").as_int64(), 98) << "what was spent before still counts";
    EXPECT_EQ(data.at("overrideId").as_string(), id);
}

TEST_F(Overrides, KeepTheirIdWhenTheyAreSetAgain) {
    const std::string id = set("again", "a", 5);
    EXPECT_EQ(set("again", "a", 6), id);
    EXPECT_NE(set("again", "b", 6), id);
    const auto data = expect_data(server_->ask(kGet, name("again", "a")));
    EXPECT_EQ(
        data,
        json(R"({"overrideId":")" + id + R"(","identifier":"a","limit":6,"duration":2592000000})"));
}

TEST_F(Overrides, OfLimitZeroAreABan) {
    const std::string id = set("ban", "a", 0);
    const auto data = decide("ban", "a");
    EXPECT_FALSE(data.at("success").as_bool());
    EXPECT_EQ(data.at("overrideId").as_string(), id);
}

TEST_F(Overrides, AreChosenExactFirstThenByTheLongerLiteralPartThenByAge) {
    const std::string any = set("choice", "*", 10);
    const std::string older = set("choice", "ab*", 11);
    const std::string younger = set("choice", "*ab", 12);
    const std::string longer = set("choice", "abc*", 13);
    const std::string exact = set("choice", "abcab", 14);
    EXPECT_EQ(applied("choice", "zzz"), any);
    EXPECT_EQ(applied("choice", "abx"), older);
    EXPECT_EQ(applied("choice", "xab"), younger);
    EXPECT_EQ(applied("choice", "abxab"), older)
        << "both match with two letters; this one came first";
    EXPECT_EQ(applied("choice", "abcx"), longer);
    EXPECT_EQ(applied("choice", "abcab"), exact);
}

TEST_F(Overrides, MatchAnyTextAndItsBytes) {
    const std::string id = set("bytes", "a*z", 10);
    EXPECT_EQ(applied("bytes", "az"), id);
    EXPECT_EQ(applied("bytes", "a\\n\\u0000\\r z"), id);
    EXPECT_EQ(applied("bytes", "a\xF0\x9F\xA6\x80z"), id);
    EXPECT_EQ(applied("bytes", "A-z"), "");
    EXPECT_EQ(applied("bytes", "a.zz "), "");
    EXPECT_EQ(applied("other", "az"), "") << "another namespace";
}

TEST_F(Overrides, OfHostilePatternsAnswerAtOnce) {
    std::string pattern;
    for (int i = 0; i < 200; ++i)
        pattern += "a*";
    set("hostile", pattern + "b", 10);
    EXPECT_EQ(applied("hostile", std::string(512, 'a')), "");
}

TEST_F(Overrides, CanBeDeletedAndSetAgain) {
    set("delete", "a", 10);
    EXPECT_EQ(expect_data(server_->ask(kDelete, name("delete", "a"))), json("{}"));
    EXPECT_EQ(applied("delete", "a"), "");
    expect_error(server_->ask(kGet, name("delete", "a")), 404);
    expect_error(server_->ask(kDelete, name("delete", "a")), 404);
    const std::string id = set("delete", "a", 20);
    EXPECT_EQ(applied("delete", "a"), id);
}

TEST_F(Overrides, AreFoundByTheirPatternAndNotByWhatItMatches) {
    set("pattern", "vip_*", 10);
    expect_data(server_->ask(kGet, name("pattern", "vip_*")));
    expect_error(server_->ask(kGet, name("pattern", "vip_1")), 404);
}

TEST_F(Overrides, AreListedPageByPageEachOnce) {
    std::set<std::string> expected;
    for (int i = 0; i < 7; ++i)
        expected.insert(set("list", "i" + std::to_string(i), i));

    std::set<std::string> seen;
    std::string cursor;
    int pages = 0;
    for (bool more = true; more; ++pages) {
        const Answer answer =
            server_->ask(kList, R"({"namespace":"list","limit":3)" + cursor + "}");
        const auto page = expect_data(answer, "pagination");
        for (const auto& item : page.as_array()) {
            EXPECT_EQ(names_of(item),
                      (std::vector<std::string>{"duration", "identifier", "limit", "overrideId"}));
            EXPECT_TRUE(seen.emplace(item.at("overrideId").as_string()).second);
        }
        const auto pagination = answer.json().at("pagination");
        more = pagination.at("hasMore").as_bool();
        EXPECT_EQ(pagination.as_object().contains("cursor"), more);
        if (more)
            cursor = R"(,"cursor":")" + std::string(pagination.at("cursor").as_string()) + '"';
    }
    EXPECT_EQ(pages, 3);
    EXPECT_EQ(seen, expected);
}

TEST_F(Overrides, AreListedTenAtATimeByDefault) {
    for (int i = 0; i < 11; ++i)
        set("ten", "i" + std::to_string(i), 1);
    const Answer answer = server_->ask(kList, R"({"namespace":"ten","cursor":""})");
    EXPECT_EQ(expect_data(answer, "pagination").as_array().size(), 10U);
    EXPECT_TRUE(answer.json().at("pagination").at("hasMore").as_bool());
}

TEST_F(Overrides, OfAnUnknownNamespaceAreNotFound) {
    const auto error = expect_error(server_->ask(kList, R"({"namespace":"unknown"})"), 404);
    EXPECT_EQ(error.at("type").as_string(),
              "https://unkey.com/docs/errors/unkey/data/ratelimit_namespace_not_found");
}

TEST_F(Overrides, OfANamespaceWithRequestsButNoOverridesAreAnEmptyList) {
    decide("used", "a");
    const Answer answer = server_->ask(kList, R"({"namespace":"used"})");
    EXPECT_EQ(expect_data(answer, "pagination"), json("[]"));
    EXPECT_EQ(answer.json().at("pagination"), json(R"({"hasMore":false})"));
}

TEST_F(Overrides, RefuseWhatIsOutOfRange) {
    expect_problems(server_->ask(kList, R"({"namespace":"n","limit":0})"), {"body.limit"});
    expect_problems(server_->ask(kList, R"({"namespace":"n","limit":101})"), {"body.limit"});
    expect_problems(server_->ask(kGet, R"({"namespace":"n"})"), {"body.identifier"});
    expect_problems(
        server_->ask(kSet, R"({"namespace":"n","identifier":"i","limit":1,"duration":1,"cost":1})"),
        {"body.duration", "body.cost"});
    expect_error(server_->ask(kList, R"({"namespace":"n","cursor":"no such cursor"})"), 400);
}

}  // namespace
}  // namespace sluice::server_test
