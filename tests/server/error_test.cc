// Each error by its status and shape.
#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kGood =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";

class Errors : public testing::Test {
  protected:
    static void SetUpTestSuite() { server_ = std::make_unique<Server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    // A good request whose member `name` is `value`; without that member where `value` is empty.
    static Answer with(const std::string& name, const std::string& value) {
        auto body = json(kGood).as_object();
        body.erase(name);
        std::string text = boost::json::serialize(body);
        if (!value.empty())
            text.insert(text.size() - 1, (body.empty() ? "\"" : ",\"") + name + "\":" + value);
        return server_->ask(kLimit, text);
    }

    static inline std::unique_ptr<Server> server_;
};

TEST_F(Errors, AFieldOfTheWrongTypeOrRangeIsNamed) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
        {"namespace", {"", "1", "null", "\"\"", "[]", "true"}},
        {"identifier", {"", "1", "null", "\"\"", "{}", '"' + std::string(513, 'x') + '"'}},
        {"limit",
         {"", "-1", "1.5", "\"1\"", "null", "9007199254740992", "1e-1", "1e400", "[1]", "true"}},
        {"duration",
         {"", "999", "31622400001", "0", "-1000", "1000.5", "\"1000\"", "18446744073709551616"}},
        {"cost", {"-1", "0.5", "\"1\"", "null", "9007199254740992", "99999999999999999999"}},
    };
    for (const auto& [name, values] : wrong) {
        for (const std::string& value : values) {
            SCOPED_TRACE(name + ": " + value);
            expect_problems(with(name, value), {"body." + name});
        }
    }
}

TEST_F(Errors, AFieldAtTheEdgeOfItsRangeIsAccepted) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> right = {
        {"identifier", {"\"x\"", '"' + std::string(512, 'x') + '"'}},
        {"limit", {"0", "9007199254740991", "1.0", "1e3"}},
        {"duration", {"1000", "31622400000"}},
        {"cost", {"0", "9007199254740991"}},
    };
    for (const auto& [name, values] : right)
        for (const std::string& value : values)
            EXPECT_EQ(with(name, value).status, 200) << name << ": " << value;
}

TEST_F(Errors, AnUnknownOrRepeatedFieldIsNamed) {
    expect_problems(with("colour", "1"), {"body.colour"});
    expect_problems(
        server_->ask(kLimit,
                     R"({"namespace":"n","identifier":"i","limit":1,"limit":1,"duration":1000})"),
        {"body.limit"});
}

TEST_F(Errors, EveryErrorIsReported) {
    expect_problems(
        server_->ask(kLimit, R"({"namespace":"","limit":-1,"duration":1,"cost":0.5,"x":1,"y":2})"),
        {"body.namespace",
         "body.identifier",
         "body.limit",
         "body.duration",
         "body.cost",
         "body.x",
         "body.y"});
}

TEST_F(Errors, InvalidJsonIsReportedWithItsBytePosition) {
    const std::vector<std::pair<std::string, std::string>> broken = {
        {R"({"namespace":nope})", "14"},
        {R"({"limit":01})", "10"},
        {R"({"limit":1,})", "11"},
        {"{\"namespace\":\"\xFF\"}", "14"},
        {"{\"namespace\":\"a\nb\"}", "15"},
        {R"({"limit":1}x)", "11"},
        {R"([{"limit":1])", "11"},
    };
    for (const auto& [body, position] : broken) {
        const Answer answer = server_->ask(kLimit, body);
        expect_error(answer, 400);
        EXPECT_NE(answer.body.find(position), std::string::npos) << body << "\n" << answer.body;
    }
    expect_error(server_->ask(kLimit, ""), 400);
    expect_error(server_->ask(kLimit, "{"), 400);
    expect_error(server_->ask(kLimit, std::string(100'000, '[')), 400);
}

TEST_F(Errors, ABodyThatIsNoObjectIsRefused) {
    for (const std::string body : {"[]", "1", "null", "\"text\"", "true"})
        expect_problems(server_->ask(kLimit, body), {"body"});
}

TEST_F(Errors, AnUnknownRouteIs404) {
    for (const std::string path : {"/",
                                   "/v2",
                                   "/v2/ratelimit",
                                   "/v2/ratelimit.Limit",
                                   "/v2/ratelimit.limit/",
                                   "/v1/ratelimit.limit"})
        expect_error(server_->ask(path, kGood), 404);
    expect_error(server_->get("/nowhere"), 404);
}

TEST_F(Errors, AWrongMethodIs405WithTheAllowedOnes) {
    const Answer get = server_->get(kLimit);
    expect_error(get, 405);
    EXPECT_EQ(get.field("Allow"), "POST");
    for (const std::string path : {"/healthz", "/readyz"}) {
        const Answer post = server_->ask(path, "{}");
        expect_error(post, 405);
        EXPECT_NE(post.field("Allow").find("GET"), std::string::npos);
    }
}

TEST_F(Errors, AWrongContentTypeIs415) {
    for (const std::string type :
         {"text/plain", "application/jsonp", "application/x-www-form-urlencoded", ""})
        expect_error(server_->ask(kLimit, kGood, {{"Content-Type", type}}), 415);
    for (const std::string type :
         {"application/json", "Application/JSON", "application/json; charset=utf-8"})
        expect_data(server_->ask(kLimit, kGood, {{"Content-Type", type}}));
}

TEST_F(Errors, ABodyOverAMebibyteIs413) {
    const std::string space(1024 * 1024 - kGood.size(), ' ');
    expect_data(server_->ask(kLimit, std::string(kGood) + space));
    Connection connection = server_->connect();
    connection.send(post(kLimit, "", {{"Content-Length", "1048577"}}));
    expect_error(connection.receive(), 413);
    EXPECT_EQ(connection.receive_rest(), "");
}

TEST_F(Errors, ARefusedBodyIsReportedInTheAcceptedType) {
    Connection connection = server_->connect();
    connection.send(
        post(kLimit, "", {{"Content-Length", "1048577"}, {"Accept", "application/problem+json"}}));
    const Answer answer = connection.receive();
    expect_error(answer, 413);
    EXPECT_EQ(answer.field("Content-Type"), "application/problem+json");
}

TEST_F(Errors, AChunkedBodyOverAMebibyteIs413) {
    Connection connection = server_->connect();
    connection.send(
        "POST /v2/ratelimit.limit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
    for (int i = 0; i < 17; ++i)
        if (!connection.try_send(chunk)) break;
    expect_error(connection.receive(), 413);
    EXPECT_EQ(connection.receive_rest(), "");
}

TEST_F(Errors, AHeaderOver16KibibytesIs431) {
    const Answer fits = server_->ask(kLimit, kGood, {{"X-Big", std::string(16'000, 'x')}});
    EXPECT_EQ(fits.status, 200);
    Connection connection = server_->connect();
    connection.send(post(kLimit, kGood, {{"X-Big", std::string(17'000, 'x')}}));
    expect_error(connection.receive(), 431);
    EXPECT_EQ(connection.receive_rest(), "");
}

TEST_F(Errors, AnEndlessHeaderIs431BeforeItEnds) {
    Connection connection = server_->connect();
    connection.send("GET /" + std::string(17'000, 'x'));
    EXPECT_EQ(connection.receive().status, 431);
}

TEST_F(Errors, AreProblemJsonIfAcceptNamesIt) {
    constexpr std::string_view kProblem = "application/problem+json";
    const auto type_for = [](const std::string& accept) {
        const Answer answer = server_->ask(kLimit, "{}", {{"Accept", accept}});
        expect_error(answer, 400);
        return answer.field("Content-Type");
    };
    EXPECT_EQ(type_for("application/problem+json"), kProblem);
    EXPECT_EQ(type_for("text/html, Application/Problem+JSON;q=0.9"), kProblem);
    for (const std::string accept : {"application/json", "*/*", "", "text/html"})
        EXPECT_EQ(type_for(accept), "application/json") << accept;
    const Answer missing = server_->ask("/nowhere", "{}", {{"Accept", std::string(kProblem)}});
    EXPECT_EQ(missing.field("Content-Type"), kProblem);
    const Answer good = server_->ask(kLimit, kGood, {{"Accept", std::string(kProblem)}});
    EXPECT_EQ(good.field("Content-Type"), "application/json")
        << "an answer that is no error is no problem";
}

TEST_F(Errors, LeaveTheConnectionUsableAfterACompleteRequest) {
    Connection connection = server_->connect();
    EXPECT_EQ(connection.ask(post(kLimit, "nonsense")).status, 400);
    EXPECT_EQ(connection.ask(post("/nowhere", kGood)).status, 404);
    EXPECT_EQ(connection.ask(get_request(kLimit)).status, 405);
    EXPECT_EQ(connection.ask(post(kLimit, kGood, {{"Content-Type", "text/plain"}})).status, 415);
    EXPECT_EQ(connection.ask(post(kLimit, kGood)).status, 200);
}

}  // namespace
}  // namespace sluice::server_test
