// POST /v2/ratelimit.multiLimit: many decisions, all or nothing.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kMultiLimit = "/v2/ratelimit.multiLimit";
const Fields kAtBegin = {{"X-Test-Time", "1700000040000"}};

class MultiLimit : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        server_ = std::make_unique<Server>(ServerOptions{.flags = {"--test-clock"}});
    }
    static void TearDownTestSuite() { server_.reset(); }

    static Answer ask(std::string_view body) { return server_->ask(kMultiLimit, body, kAtBegin); }

    static inline std::unique_ptr<Server> server_;
};

std::string items(int count, std::string_view name_space) {
    std::string text = "[";
    for (int i = 0; i < count; ++i) {
        text += i == 0 ? "" : ",";
        text += R"({"namespace":")" + std::string(name_space) + R"(","identifier":"i)" +
                std::to_string(i) + R"(","limit":5,"duration":60000})";
    }
    return text + "]";
}

TEST_F(MultiLimit, AnswersEachItemInOrder) {
    const Answer answer = ask(
        R"([{"namespace":"order","identifier":"b","limit":3,"duration":60000},
            {"namespace":"order","identifier":"a","limit":5,"duration":60000,"cost":2},
            {"namespace":"order","identifier":"b","limit":3,"duration":60000}])");
    EXPECT_EQ(expect_data(answer),
              json(
                  R"({"passed":true,"limits":[
              {"namespace":"order","identifier":"b","passed":true,"limit":3,"remaining":2,"reset":1700000100000},
              {"namespace":"order","identifier":"a","passed":true,"limit":5,"remaining":3,"reset":1700000100000},
              {"namespace":"order","identifier":"b","passed":true,"limit":3,"remaining":1,"reset":1700000100000}]})"));
}

TEST_F(MultiLimit, SpendsNothingIfOneItemIsDenied) {
    const Answer denied =
        ask(R"([{"namespace":"none","identifier":"a","limit":3,"duration":60000,"cost":2},
                                  {"namespace":"none","identifier":"b","limit":0,"duration":60000}])");
    const auto data = expect_data(denied);
    EXPECT_FALSE(data.at("passed").as_bool());
    EXPECT_TRUE(data.at("limits").at(0).at("passed").as_bool());
    EXPECT_FALSE(data.at("limits").at(1).at("passed").as_bool());

    const Answer peek =
        ask(R"([{"namespace":"none","identifier":"a","limit":3,"duration":60000,"cost":0}])");
    EXPECT_EQ(expect_data(peek).at("limits").at(0).at("remaining").as_int64(), 3);
}

TEST_F(MultiLimit, HasRetryAtForEachDeniedItem) {
    constexpr std::string_view kBody =
        R"([{"namespace":"when","identifier":"a","limit":1,"duration":60000}])";
    ask(kBody);
    const auto item = expect_data(ask(kBody)).at("limits").at(0);
    EXPECT_EQ(item.at("retryAt").as_int64(), 1'700'000'160'000);
}

TEST_F(MultiLimit, ADenialFollowsPrefer) {
    constexpr std::string_view kBody =
        R"([{"namespace":"prefer","identifier":"a","limit":0,"duration":60000}])";
    EXPECT_EQ(ask(kBody).status, 200);
    Fields fields = kAtBegin;
    fields.emplace_back("Prefer", "status=429");
    const Answer answer = server_->ask(kMultiLimit, kBody, fields);
    EXPECT_EQ(answer.status, 429);
    EXPECT_FALSE(answer.json().at("data").at("passed").as_bool());
}

TEST_F(MultiLimit, CarriesTheRateLimitFields) {
    const Answer answer = ask(items(3, "fields"));
    EXPECT_FALSE(answer.field("RateLimit-Policy").empty());
    EXPECT_FALSE(answer.field("RateLimit").empty());
    EXPECT_FALSE(answer.has("Retry-After"));
    const Answer denial =
        ask(R"([{"namespace":"fields","identifier":"x","limit":0,"duration":60000}])");
    EXPECT_TRUE(denial.has("Retry-After"));
}

TEST_F(MultiLimit, TakesOneToAHundredItems) {
    EXPECT_EQ(expect_data(ask(items(100, "full"))).at("limits").as_array().size(), 100U);
    expect_problems(ask("[]"), {"body"});
    expect_problems(ask(items(101, "full")), {"body"});
}

TEST_F(MultiLimit, NamesEveryProblemWithTheIndexOfItsItem) {
    const Answer answer = ask(R"([{"namespace":"n","identifier":"a","limit":1,"duration":1000},
                                  {"namespace":"n","identifier":"","limit":-1,"duration":1000},
                                  {"namespace":"n","limit":1,"duration":1000,"colour":1},
                                  7])");
    expect_problems(
        answer,
        {"body[1].identifier", "body[1].limit", "body[2].identifier", "body[2].colour", "body[3]"});
}

TEST_F(MultiLimit, RefusesABodyThatIsNoArray) {
    expect_problems(ask(R"({"namespace":"n","identifier":"a","limit":1,"duration":1000})"),
                    {"body"});
}

}  // namespace
}  // namespace sluice::server_test
