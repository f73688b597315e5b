// A request that is not valid is an error that names the field, its value and what is allowed.
#include <array>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/history.h"
#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

using std::chrono::milliseconds;

constexpr UnixTime kNow{milliseconds{1'700'000'000'000}};

Request valid_request() {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = "i",
            .limit = 10,
            .duration = milliseconds{1'000}};
}

const std::string& text_of(std::size_t characters, const std::string& character) {
    static std::vector<std::string> kept;  // a Request only refers to its texts
    kept.reserve(100);
    std::string text;
    for (std::size_t i = 0; i < characters; ++i) {
        text += character;
    }
    return kept.emplace_back(std::move(text));
}

struct Fault {
    std::string field;
    std::string
        value;  // what the message must show of the value; empty where it is too long to show
    std::string allowed;
    std::function<void(Request&)> commit;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
    return out << fault.field << " " << fault.value;
}

std::vector<Fault> number_faults() {
    std::vector<Fault> faults;
    for (const std::int64_t bad : {std::int64_t{-1}, INT64_MIN, kMaxNumber + 1, INT64_MAX}) {
        const std::string shown = std::to_string(bad);
        faults.push_back(
            {"limit", shown, "9007199254740991", [bad](Request& r) { r.limit = bad; }});
        faults.push_back({"cost", shown, "9007199254740991", [bad](Request& r) { r.cost = bad; }});
    }
    for (const std::int64_t bad : {std::int64_t{-1'000},
                                   std::int64_t{0},
                                   std::int64_t{999},
                                   std::int64_t{31'622'400'001},
                                   INT64_MAX}) {
        faults.push_back({"duration", std::to_string(bad), "31622400000", [bad](Request& r) {
                              r.duration = milliseconds{bad};
                          }});
    }
    return faults;
}

std::vector<Fault> text_faults() {
    std::vector<Fault> faults;
    for (const auto& [characters, character] :
         {std::pair{0U, "a"}, {513U, "a"}, {513U, "\xC3\xA9"}, {1'000'000U, "a"}}) {
        const std::string_view bad = text_of(characters, character);
        faults.push_back({"workspace", "", "512", [bad](Request& r) { r.workspace = bad; }});
        faults.push_back({"name_space", "", "512", [bad](Request& r) { r.name_space = bad; }});
        faults.push_back({"identifier", "", "512", [bad](Request& r) { r.identifier = bad; }});
    }
    return faults;
}

class InvalidRequest : public testing::TestWithParam<Fault> {};

TEST_P(InvalidRequest, IsAnErrorThatNamesTheFieldTheValueAndWhatIsAllowed) {
    Limiter limiter = fresh_limiter();
    Request request = valid_request();
    GetParam().commit(request);
    const auto decision = limiter.limit(request, kNow);
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, kInvalidRequest);
    EXPECT_NE(decision.error().message.find(GetParam().field), std::string::npos)
        << decision.error().message;
    EXPECT_NE(decision.error().message.find(GetParam().value), std::string::npos)
        << decision.error().message;
    EXPECT_NE(decision.error().message.find(GetParam().allowed), std::string::npos)
        << decision.error().message;
    EXPECT_LT(decision.error().message.size(), 300U);
    EXPECT_EQ(limiter.stats().keys_held, 0U);
}

TEST_P(InvalidRequest, FailsItsWholeBatchAndIsNamedByItsIndex) {
    Limiter limiter = fresh_limiter();
    std::array requests{valid_request(), valid_request(), valid_request()};
    GetParam().commit(requests[2]);
    const auto batch = limiter.limit_many(requests, kNow);
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, kInvalidRequest);
    EXPECT_NE(batch.error().message.find(GetParam().field), std::string::npos)
        << batch.error().message;
    EXPECT_NE(batch.error().message.find("requests[2]"), std::string::npos)
        << batch.error().message;
    EXPECT_EQ(limiter.limit(valid_request(), kNow)->remaining, 9);
}

INSTANTIATE_TEST_SUITE_P(Numbers, InvalidRequest, testing::ValuesIn(number_faults()));
INSTANTIATE_TEST_SUITE_P(Texts, InvalidRequest, testing::ValuesIn(text_faults()));

TEST(InvalidTime, IsAnErrorThatNamesTheTime) {
    Limiter limiter = fresh_limiter();
    for (const std::int64_t bad : {std::int64_t{-1}, INT64_MIN, kMaxNumber + 1, INT64_MAX}) {
        const auto decision = limiter.limit(valid_request(), UnixTime{milliseconds{bad}});
        ASSERT_FALSE(decision);
        EXPECT_EQ(decision.error().code, kInvalidRequest);
        EXPECT_NE(decision.error().message.find("now"), std::string::npos)
            << decision.error().message;
        EXPECT_NE(decision.error().message.find(std::to_string(bad)), std::string::npos)
            << decision.error().message;
    }
}

TEST(InvalidBatch, IsOneOfNoRequestsOrOfMoreThanAHundred) {
    Limiter limiter = fresh_limiter();
    for (const std::size_t size : {std::size_t{0}, std::size_t{101}, std::size_t{10'000}}) {
        const auto batch = limiter.limit_many(std::vector(size, valid_request()), kNow);
        ASSERT_FALSE(batch);
        EXPECT_EQ(batch.error().code, kInvalidRequest);
        EXPECT_NE(batch.error().message.find(std::to_string(size)), std::string::npos)
            << batch.error().message;
        EXPECT_NE(batch.error().message.find("100"), std::string::npos) << batch.error().message;
    }
    EXPECT_TRUE(limiter.limit_many(std::vector(100, valid_request()), kNow));
}

// The extremes that are still allowed.
TEST(ValidRequest, MayHaveAnyFieldAtTheEndOfItsRange) {
    Limiter limiter = fresh_limiter();
    for (const std::string* text : {&text_of(1, "a"),
                                    &text_of(512, "a"),
                                    &text_of(512, "\xF0\x9F\x98\x80"),
                                    &text_of(512, std::string(1, '\0'))}) {
        for (const std::int64_t duration : {1'000L, 31'622'400'000L}) {
            for (const std::int64_t number : {std::int64_t{0}, kMaxNumber}) {
                const Request request{.workspace = *text,
                                      .name_space = *text,
                                      .identifier = *text,
                                      .limit = number,
                                      .duration = milliseconds{duration},
                                      .cost = number};
                for (const std::int64_t now : {std::int64_t{0}, kMaxNumber}) {
                    EXPECT_TRUE(limiter.limit(request, UnixTime{milliseconds{now}}));
                }
            }
        }
    }
}

TEST(InvalidOptions, AreErrorsThatNameTheOption) {
    EXPECT_TRUE(Limiter::create({.region = ""})) << "a region is for a global store";
    const auto nameless = Limiter::create({.region = "", .global = "memory:nameless"});
    ASSERT_FALSE(nameless);
    EXPECT_EQ(nameless.error().code, kRegionRequired);
    EXPECT_NE(nameless.error().message.find("region"), std::string::npos);

    const auto long_name = Limiter::create({.region = std::string(49, 'r')});
    ASSERT_FALSE(long_name);
    EXPECT_EQ(long_name.error().code, kInvalidOption);
    EXPECT_NE(long_name.error().message.find("region"), std::string::npos);

    for (const std::size_t bad : {std::size_t{0}, std::size_t{1'000'000'001}}) {
        const auto sized = Limiter::create({.region = "test", .max_keys = bad});
        ASSERT_FALSE(sized);
        EXPECT_EQ(sized.error().code, kInvalidOption);
        EXPECT_NE(sized.error().message.find("max_keys"), std::string::npos);
    }
}

}  // namespace
}  // namespace sluice::model
