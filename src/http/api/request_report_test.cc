#include "http/api/request_report.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

#include "http/api/api_fixture.h"

namespace sluice::http {

namespace {

// Decodes 13 digits of five bits.
std::uint64_t number_of(std::string_view digits) {
    constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    std::uint64_t number = 0;
    for (std::size_t i = digits.size(); i > 0; --i)
        number = number << 5U | kAlphabet.find(digits[i - 1]);
    return number;
}

TEST(RequestId, IsAPrefixAndLettersAndDigits) {
    RequestIdSource source;
    const std::string id(source.next());
    EXPECT_EQ(id.size(), 30U);
    EXPECT_TRUE(id.starts_with("req_"));
    const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
    EXPECT_TRUE(std::all_of(id.begin() + 4, id.end(), is_plain)) << id;
}

TEST(RequestId, IsUnique) {
    RequestIdSource one;
    RequestIdSource other;
    std::unordered_set<std::string> seen;
    for (int i = 0; i < 50'000; ++i) {
        EXPECT_TRUE(seen.emplace(one.next()).second);
        EXPECT_TRUE(seen.emplace(other.next()).second);
    }
}

// Neither half is a counter, plain or scrambled by an invertible function, or names the thread.
TEST(RequestId, DoesNotRevealACounter) {
    RequestIdSource source;
    std::unordered_set<std::uint64_t> halves;
    std::unordered_set<std::uint64_t> steps;
    std::uint64_t before = 0;
    std::size_t differing_bits = 0;
    constexpr std::size_t kIds = 10'000;
    for (std::size_t i = 0; i < kIds; ++i) {
        const std::string id(source.next());
        const std::uint64_t second = number_of(std::string_view(id).substr(17));
        EXPECT_TRUE(halves.insert(number_of(std::string_view(id).substr(4, 13))).second) << id;
        EXPECT_TRUE(halves.insert(second).second) << id;
        EXPECT_TRUE(steps.insert(second - before).second) << id;
        differing_bits += static_cast<std::size_t>(std::popcount(second ^ before));
        before = second;
    }
    // 32 of 64 bits on average; the tolerance is far above the deviation of a mean of 10,000.
    EXPECT_GT(differing_bits, kIds * 31);
    EXPECT_LT(differing_bits, kIds * 33);
}

TEST(ReportNotes, ListEachNamespaceOnce) {
    ReportNotes notes;
    for (const std::string_view name : {"ab", "a", "b", "ab", "b"})
        notes.note_namespace(name);
    EXPECT_EQ(notes.name_space, "ab,a,b");
    notes.clear();
    notes.note_namespace("c");
    EXPECT_EQ(notes.name_space, "c");
}

TEST(ReportNotes, AreLimitedInLength) {
    ReportNotes notes;
    notes.note_namespace(std::string(2'048, 'x'));
    for (int i = 0; i < 100; ++i)
        notes.note_namespace("namespace " + std::to_string(i));
    EXPECT_LE(notes.name_space.size(), 600U);
}

constexpr std::string_view kGood =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":60000})";

class RequestReports : public ApiFixture {
  protected:
    RequestReports() : ApiFixture({}, "", Reports::kKept) {}

    // "status outcome workspace namespace" of the last report.
    std::string last_of(const Answer& answer) const {
        const auto report = requests_.find(answer.request_id);
        return report == requests_.end() ? "none" : report->second;
    }
};

TEST_F(RequestReports, HaveTheOutcomeOfTheRequest) {
    EXPECT_EQ(last_of(limit(std::string(kGood))), "200 passed default n");
    EXPECT_EQ(last_of(limit(std::string(kGood))), "200 denied default n");
    EXPECT_EQ(last_of(limit("{")), "400 invalid_input default ");
    EXPECT_EQ(last_of(send({.method = "GET", .path = "/healthz", .json = false})), "200 ok  ");
    EXPECT_EQ(last_of(post("/v2/ratelimit.getOverride", R"({"namespace":"n","identifier":"i"})")),
              "404 ratelimit_override_not_found default n");
}

TEST_F(RequestReports, CoverDeferredAnswers) {
    EXPECT_EQ(last_of(post("/v2/ratelimit.setOverride", std::string(kGood))), "200 ok default n");
}

TEST_F(RequestReports, HaveTheCauseOfAFailure) {
    store_fails_ = Error{kStoreFailed, "/secret/path is full"};
    const Answer answer = post("/v2/ratelimit.setOverride", std::string(kGood));
    EXPECT_EQ(answer.status, 500);
    ASSERT_EQ(failures_.count(answer.request_id), 1U);
    EXPECT_EQ(failures_.at(answer.request_id), "/v2/ratelimit.setOverride: /secret/path is full");
    EXPECT_EQ(last_of(answer), "500 unexpected_error default n");
}

TEST_F(RequestReports, CoverProtocolErrors) {
    Reply reply;
    api_.protocol_error({.status = 400, .detail = "Bare LF."}, reply);
    EXPECT_EQ(refusals_.at(answer_of(reply).request_id), "400 Bare LF.");
    EXPECT_TRUE(failures_.empty());
    api_.protocol_error({.status = 500, .detail = "It failed."}, reply);
    EXPECT_EQ(failures_.at(answer_of(reply).request_id), ": It failed.");
    api_.protocol_error({.status = 500, .detail = "It failed.", .cause = "bad_alloc"}, reply);
    EXPECT_EQ(failures_.at(answer_of(reply).request_id), ": bad_alloc");
    EXPECT_EQ(reply.body().find("bad_alloc"), std::string::npos) << "that is for the log alone";
}

// The call fails after it was deferred: the handler no longer owns its answer.
TEST_F(RequestReports, HaveTheCauseOfAFailureOfADeferredCall) {
    ApiContext failing = context(ListenerRole::kPublic);
    failing.post = [](const std::function<void()>&) { throw std::runtime_error("no memory"); };
    Api api(failing);
    override_changes_.close();
    const std::string head =
        "POST /v2/ratelimit.setOverride HTTP/1.1\r\nHost: h\r\nContent-Type: "
        "application/json\r\n\r\n";
    RequestView request;
    HeadFacts facts;
    ASSERT_EQ(parse_head(head, request, facts).status, 0);
    request.body = kGood;
    Reply reply;
    EXPECT_EQ(api.handle(request, reply, Completion(nullptr)), HandlerResult::kDeferred);
    ASSERT_EQ(failures_.size(), 1U);
    EXPECT_EQ(failures_.begin()->second, "/v2/ratelimit.setOverride: no memory");
}

}  // namespace

}  // namespace sluice::http
