#include "http/api/request_report.h"

#include <stdexcept>

#include "http/api/api_fixture.h"

namespace sluice::http {
namespace {

TEST(ReportNotes, NameEachNamespaceOnce) {
    ReportNotes notes;
    for (const std::string_view name : {"ab", "a", "b", "ab", "b"})
        notes.note_namespace(name);
    EXPECT_EQ(notes.name_space, "ab,a,b");
    notes.clear();
    notes.note_namespace("c");
    EXPECT_EQ(notes.name_space, "c");
}

TEST(ReportNotes, StayShort) {
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

    // "status outcome workspace namespace" of the request that was reported last.
    std::string last_of(const Answer& answer) const {
        const auto report = requests_.find(answer.request_id);
        return report == requests_.end() ? "none" : report->second;
    }
};

TEST_F(RequestReports, TellHowARequestEnded) {
    EXPECT_EQ(last_of(limit(std::string(kGood))), "200 passed default n");
    EXPECT_EQ(last_of(limit(std::string(kGood))), "200 denied default n");
    EXPECT_EQ(last_of(limit("{")), "400 invalid_input default ");
    EXPECT_EQ(last_of(send({.method = "GET", .path = "/healthz", .json = false})), "200 ok  ");
    EXPECT_EQ(last_of(post("/v2/ratelimit.getOverride", R"({"namespace":"n","identifier":"i"})")),
              "404 ratelimit_override_not_found default n");
}

TEST_F(RequestReports, TellOfAnswersThatComeLater) {
    EXPECT_EQ(last_of(post("/v2/ratelimit.setOverride", std::string(kGood))), "200 ok default n");
}

TEST_F(RequestReports, TellTheCauseOfAFailure) {
    store_fails_ = Error{kStoreFailed, "/secret/path is full"};
    const Answer answer = post("/v2/ratelimit.setOverride", std::string(kGood));
    EXPECT_EQ(answer.status, 500);
    ASSERT_EQ(failures_.count(answer.request_id), 1U);
    EXPECT_EQ(failures_.at(answer.request_id), "/v2/ratelimit.setOverride: /secret/path is full");
    EXPECT_EQ(last_of(answer), "500 unexpected_error default n");
}

TEST_F(RequestReports, TellOfWhatNeverBecameARequest) {
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

// Here the call has been put off when it fails: its answer is not the handler's any more.
TEST_F(RequestReports, TellTheCauseWhereACallFailsThatIsAnsweredLater) {
    ApiContext failing = context(Surface::kPublic);
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
    EXPECT_EQ(api.handle(request, reply, Completion(nullptr)), Progress::kLater);
    ASSERT_EQ(failures_.size(), 1U);
    EXPECT_EQ(failures_.begin()->second, "/v2/ratelimit.setOverride: no memory");
}

}  // namespace
}  // namespace sluice::http
