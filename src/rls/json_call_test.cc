#include "rls/json_call.h"

#include <string>

#include <gtest/gtest.h>

#include "rls/service_fixture.h"

namespace sluice::rls {
namespace {

using namespace std::chrono_literals;

TEST(JsonRequest, HasTheFieldsOfTheMessage) {
    JsonRequest decoded;
    ASSERT_FALSE(decode_json(
        R"({"domain":"web","hits_addend":7,"descriptors":[{"entries":[{"key":"a","value":"b"},)"
        R"({"key":"c"}],"limit":{"requestsPerUnit":5,"unit":"HOUR"},"hitsAddend":"3"},)"
        R"({"limit":{"requests_per_unit":"6","unit":4},"isNegativeHits":true,"hitsAddend":null}]})",
        decoded));
    const RateLimitRequest& request = decoded.request;
    EXPECT_EQ(request.domain, "web");
    EXPECT_EQ(request.hits_addend, 7U);
    ASSERT_EQ(request.descriptors.size(), 2U);
    EXPECT_EQ(request.descriptors[0].limit, (LimitOverride{5, Unit::kHour}));
    EXPECT_EQ(request.descriptors[0].hits_addend, 3U);
    ASSERT_EQ(request.entries_of(request.descriptors[0]).size(), 2U);
    EXPECT_EQ(request.entries_of(request.descriptors[0])[1], (DescriptorEntry{"c", ""}));
    EXPECT_EQ(request.descriptors[1].limit, (LimitOverride{6, Unit::kDay}));
    EXPECT_TRUE(request.descriptors[1].is_negative_hits);
    EXPECT_FALSE(request.descriptors[1].hits_addend);
}

TEST(JsonRequest, NamesWhatIsWrong) {
    const auto fault = [](const std::string& body) {
        JsonRequest decoded;
        const auto error = decode_json(body, decoded);
        return error ? error->message : "no fault";
    };
    EXPECT_EQ(fault("{").substr(0, 25), "the request is not JSON: ");
    EXPECT_EQ(fault("[]"), "request is an array; allowed: an object");
    EXPECT_EQ(fault(R"({"domian":"x"})"),
              "request: unknown field \"domian\"; allowed: domain, descriptors, hitsAddend");
    EXPECT_EQ(fault(R"({"domain":"x","domain":"y"})"), "request: the field domain is given twice");
    EXPECT_EQ(fault(R"({"domain":1})"), "domain is a number that does not fit; allowed: a string");
    EXPECT_EQ(fault(R"({"hitsAddend":-1})"),
              "hitsAddend is a number that does not fit; allowed: a whole number from 0 to "
              "4294967295");
    EXPECT_EQ(fault(R"({"descriptors":[{"limit":{"unit":"EON"}}]})"),
              "descriptors[0].limit.unit is \"EON\"; allowed: SECOND, MINUTE, HOUR, DAY, WEEK, "
              "MONTH, YEAR");
    EXPECT_EQ(fault(R"({"descriptors":[{"entries":[{"k":1}]}]})"),
              "descriptors[0].entries: unknown field \"k\"; allowed: key, value");
    std::string many = R"({"descriptors":[{})";
    for (int i = 0; i < 100; ++i)
        many += ",{}";
    EXPECT_EQ(fault(many + "]}"), "descriptors has more items; allowed: up to 100");
    EXPECT_EQ(fault(std::string(262'145, ' ')),
              "the request is 262145 bytes long; allowed: up to 262144");
}

class JsonCallTest : public ServiceFixture {
  protected:
    std::string post(const std::string& body) {
        const auto error = decode_json(body, decoded_);
        return error ? error->message : encode_json(call(decoded_.request).response);
    }
    JsonRequest decoded_;
};

TEST_F(JsonCallTest, LeavesOutFieldsWithoutAValue) {
    set_options({.response_headers = LimitHeaders{"l", "r", "t"}});
    load_descriptors({"key: user, rate_limit: {unit: minute, requests_per_unit: 1, name: n}"});
    const std::string body =
        R"({"domain":"web","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})";
    EXPECT_EQ(post(body),
              R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"name":"n",)"
              R"("requestsPerUnit":1,"unit":"MINUTE"},"durationUntilReset":"60s"}],)"
              R"("responseHeadersToAdd":[{"key":"l","value":"1"},{"key":"r","value":"0"},)"
              R"({"key":"t","value":"60"}]})");
    EXPECT_EQ(post(body).substr(0, 55),
              R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_L)");
    EXPECT_EQ(post(R"({"domain":"web","descriptors":[{"entries":[{"key":"none"}]}]})"),
              R"({"overallCode":"OK","statuses":[{"code":"OK"}]})");
}

}  // namespace
}  // namespace sluice::rls
