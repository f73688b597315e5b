// POST /v2/ratelimit.limit: requests and answers.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::int64_t kBegin = 1'700'000'040'000;  // a multiple of a minute, in unix ms

class Limit : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        server_ = std::make_unique<Server>(ServerOptions{.flags = {"--test-clock"}});
    }
    static void TearDownTestSuite() { server_.reset(); }

    // A decision at `elapsed` milliseconds after kBegin.
    static Answer at(std::int64_t elapsed, std::string_view body, Fields fields = {}) {
        fields.emplace_back("X-Test-Time", std::to_string(kBegin + elapsed));
        return server_->ask(kLimit, body, fields);
    }

    static inline std::unique_ptr<Server> server_;
};

TEST_F(Limit, AnswersAPassWithItsFourFields) {
    const Answer answer =
        at(30'000, R"({"namespace":"pass","identifier":"a","limit":10,"duration":60000,"cost":3})");
    EXPECT_EQ(expect_data(answer),
              json(R"({"success":true,"limit":10,"remaining":7,"reset":1700000100000})"));
}

TEST_F(Limit, CostDefaultsToOne) {
    const Answer answer =
        at(0, R"({"namespace":"one","identifier":"a","limit":10,"duration":60000})");
    EXPECT_EQ(expect_data(answer).at("remaining").as_int64(), 9);
}

TEST_F(Limit, ADenialIsStatus200WithRetryAt) {
    constexpr std::string_view kBody =
        R"({"namespace":"deny","identifier":"a","limit":2,"duration":60000})";
    at(0, kBody);
    at(0, kBody);
    // Two of two are spent. Half of them still weigh on the middle of the next window.
    EXPECT_EQ(
        expect_data(at(30'000, kBody)),
        json(
            R"({"success":false,"limit":2,"remaining":0,"reset":1700000100000,"retryAt":1700000130000})"));
    EXPECT_FALSE(expect_data(at(89'999, kBody)).at("success").as_bool());
    EXPECT_TRUE(expect_data(at(90'000, kBody)).at("success").as_bool());
}

// One time that is an hour ahead, and one in microseconds.
TEST_F(Limit, ATimeFarAheadCostsTwoWindowsAtMost) {
    for (const std::int64_t ahead : {std::int64_t{3'600'000}, 999 * kBegin}) {
        const std::string body = R"({"namespace":"ahead","identifier":")" + std::to_string(ahead) +
                                 R"(","limit":10,"duration":60000})";
        const auto passes = [&](std::int64_t elapsed) {
            return expect_data(at(elapsed, body)).at("success").as_bool();
        };
        for (int i = 0; i < 10; ++i)
            ASSERT_TRUE(passes(0));
        ASSERT_TRUE(passes(ahead));
        int passed = 0;
        for (std::int64_t i = 0; i < 30; ++i)
            passed += passes(i) ? 1 : 0;
        EXPECT_LE(passed, 9) << "and one ahead: a limit beyond the limit";
        const auto denied = expect_data(at(30, body));
        EXPECT_EQ(denied.at("retryAt").as_int64(), kBegin + 120'000);
        for (int i = 0; i < 200; ++i)  // nine in a window
            EXPECT_TRUE(passes(120'000 + i * 7'000)) << i;
    }
}

TEST_F(Limit, HasNoRetryAtIfItCanNeverPass) {
    const std::vector<std::string> expected = {"limit", "remaining", "reset", "success"};
    EXPECT_EQ(names_of(expect_data(
                  at(0, R"({"namespace":"n","identifier":"a","limit":0,"duration":60000})"))),
              expected);
    EXPECT_EQ(names_of(expect_data(at(
                  0, R"({"namespace":"n","identifier":"b","limit":5,"duration":60000,"cost":6})"))),
              expected);
}

TEST_F(Limit, CostZeroSpendsNothing) {
    constexpr std::string_view kPeek =
        R"({"namespace":"peek","identifier":"a","limit":4,"duration":60000,"cost":0})";
    at(0, R"({"namespace":"peek","identifier":"a","limit":4,"duration":60000})");
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(expect_data(at(0, kPeek)).at("remaining").as_int64(), 3);
}

TEST_F(Limit, TakesTheLargestNumbers) {
    const Answer answer = at(
        0,
        R"({"namespace":"max","identifier":"a","limit":9007199254740991,"duration":31622400000,"cost":9007199254740991})");
    const auto data = expect_data(answer);
    EXPECT_TRUE(data.at("success").as_bool());
    EXPECT_EQ(data.at("limit").as_int64(), 9007199254740991);
    EXPECT_EQ(data.at("remaining").as_int64(), 0);
}

TEST_F(Limit, CountsCharactersAndNotBytes) {
    std::string crabs;
    for (int i = 0; i < 512; ++i)
        crabs += "\xF0\x9F\xA6\x80";
    const auto body = [](const std::string& identifier) {
        return R"({"namespace":"crabs","identifier":")" + identifier +
               R"(","limit":1,"duration":1000})";
    };
    EXPECT_TRUE(expect_data(at(0, body(crabs))).at("success").as_bool());
    expect_problems(at(0, body(crabs + "x")), {"body.identifier"});
}

TEST_F(Limit, DifferentTextsAreDifferentIdentifiers) {
    for (const std::string identifier :
         {"a", "A", "a ", "\\u0000", "a\\u0000", "\\n", "\xD0\xBA", "a-b", "\\\"", "*", "a*"}) {
        const std::string body = R"({"namespace":"text","identifier":")" + identifier +
                                 R"(","limit":1,"duration":60000})";
        EXPECT_TRUE(expect_data(at(0, body)).at("success").as_bool()) << identifier;
        EXPECT_FALSE(expect_data(at(0, body)).at("success").as_bool()) << identifier;
    }
}

TEST_F(Limit, AnEscapedTextIsTheSameAsTheBareOne) {
    at(0, R"({"namespace":"escape","identifier":"caf\u00e9","limit":1,"duration":60000})");
    const Answer again = at(
        0,
        "{\"namespace\":\"escape\",\"identifier\":\"caf\xC3\xA9\",\"limit\":1,\"duration\":60000}");
    EXPECT_FALSE(expect_data(again).at("success").as_bool());
}

TEST_F(Limit, WithoutATestTimeTheSystemClockDecides) {
    const Answer answer =
        server_->ask(kLimit, R"({"namespace":"now","identifier":"a","limit":1,"duration":60000})");
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const std::int64_t reset = expect_data(answer).at("reset").as_int64();
    EXPECT_GT(reset, now.count() - 30'000);
    EXPECT_LE(reset, now.count() + 60'000);
}

TEST_F(Limit, CarriesTheRateLimitFieldsOfTheIetf) {
    constexpr std::string_view kBody =
        R"({"namespace":"ietf","identifier":"a","limit":2,"duration":60000})";
    const Answer pass = at(20'000, kBody);
    EXPECT_EQ(pass.field("RateLimit-Policy"), R"("default";q=2;w=60)");
    EXPECT_EQ(pass.field("RateLimit"), R"("default";r=1;t=40)");
    EXPECT_FALSE(pass.has("Retry-After"));
    at(20'000, kBody);

    const Answer denial = at(30'000, kBody);
    EXPECT_EQ(denial.field("RateLimit"), R"("default";r=0;t=30)");
    EXPECT_EQ(denial.field("Retry-After"), "60");
}

TEST_F(Limit, RetryAfterIsRoundedUpAndNeverZero) {
    constexpr std::string_view kBody =
        R"({"namespace":"soon","identifier":"a","limit":2,"duration":60000})";
    at(0, kBody);
    at(0, kBody);
    EXPECT_EQ(at(88'999, kBody).field("Retry-After"), "2");
    EXPECT_EQ(at(89'000, kBody).field("Retry-After"), "1");
    EXPECT_EQ(at(89'999, kBody).field("Retry-After"), "1");
}

TEST_F(Limit, PreferStatus429ChangesTheStatusOfADenialOnly) {
    constexpr std::string_view kBody =
        R"({"namespace":"prefer","identifier":"a","limit":1,"duration":60000})";
    EXPECT_EQ(at(0, kBody, {{"Prefer", "status=429"}}).status, 200);
    EXPECT_EQ(at(0, kBody).status, 200);
    for (const std::string value : {"status=429", "respond-async, status=429", "Status=\"429\""}) {
        const Answer denial = at(0, kBody, {{"Prefer", value}});
        EXPECT_EQ(denial.status, 429) << value;
        EXPECT_EQ(denial.field("Content-Type"), "application/json");
        EXPECT_TRUE(denial.has("Retry-After"));
        EXPECT_FALSE(denial.json().at("data").at("success").as_bool());
    }
    EXPECT_EQ(at(0, kBody, {{"Prefer", "status=418"}}).status, 200);
}

TEST_F(Limit, EveryAnswerHasItsOwnRequestId) {
    constexpr std::string_view kBody =
        R"({"namespace":"id","identifier":"a","limit":1,"duration":60000})";
    EXPECT_NE(at(0, kBody).json().at("meta"), at(0, kBody).json().at("meta"));
}

TEST(TestClock, IsOffByDefault) {
    const Server server;
    const Answer answer =
        server.ask(kLimit,
                   R"({"namespace":"n","identifier":"a","limit":1,"duration":60000})",
                   {{"X-Test-Time", std::to_string(kBegin)}});
    EXPECT_GT(expect_data(answer).at("reset").as_int64(), kBegin + 60'000);
}

}  // namespace
}  // namespace sluice::server_test
