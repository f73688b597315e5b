// SIGTERM: the server accepts nothing new, answers requests in flight, and exits.
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";

TEST(Shutdown, OfAnIdleServerIsImmediate) {
    for (const int signal : {SIGTERM, SIGINT}) {
        Server server;
        Connection idle = server.connect();
        EXPECT_EQ(idle.ask(get_request("/healthz")).status, 200);
        server.program().signal(signal);
        EXPECT_EQ(server.program().wait(8s).exit_code, 0);
        EXPECT_EQ(idle.receive_rest(), "");
    }
}

TEST(Shutdown, AnswersRequestsInFlight) {
    Server server;
    Connection body = server.connect();
    const std::string request = post(kLimit, kBody);
    body.send(request.substr(0, request.size() - 10));
    Connection head = server.connect();
    head.send("GET /readyz HTTP/1.1\r\n");
    ASSERT_TRUE(body.await_read() && head.await_read());
    server.program().signal(SIGTERM);
    ASSERT_TRUE(server.await_closed());

    const Answer readiness = head.ask("Host: localhost\r\n\r\n");
    EXPECT_EQ(readiness.status, 503);
    EXPECT_EQ(readiness.field("Connection"), "close");
    EXPECT_EQ(head.receive_rest(), "");
    const Answer answer = body.ask(request.substr(request.size() - 10));
    expect_data(answer);
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_EQ(body.receive_rest(), "");
    EXPECT_EQ(server.program().wait().exit_code, 0);
}

TEST(Shutdown, WaitsNoLongerThanItsDeadline) {
    Server server({.config = "drain_timeout = \"1s\"\n"});
    Connection stuck = server.connect();
    stuck.send("POST /v2/ratelimit.limit HTTP/1.1\r\n");
    ASSERT_TRUE(stuck.await_read());
    const auto begin = std::chrono::steady_clock::now();
    server.program().signal(SIGTERM);
    EXPECT_EQ(server.program().wait().exit_code, 0);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GE(took, 900ms) << "the request in flight was not waited for";
    EXPECT_LT(took, 8s);
}

TEST(Shutdown, EndsAtOnceOnTheSecondSignal) {
    Server server({.config = "drain_timeout = \"60s\"\n"});
    Connection stuck = server.connect();
    stuck.send("POST /v2/ratelimit.limit HTTP/1.1\r\n");
    ASSERT_TRUE(stuck.await_read());
    server.program().signal(SIGTERM);
    ASSERT_TRUE(server.await_closed());
    EXPECT_TRUE(server.program().running());
    server.program().signal(SIGTERM);
    server.program().wait(8s);
}

TEST(Shutdown, LogsOneLineAtTheStartAndOneAtTheEnd) {
    Server server;
    server.ask(kLimit, kBody);
    server.program().signal(SIGTERM);
    const Ending ending = server.program().wait();
    const std::string log = ending.out + ending.err;
    EXPECT_NE(log.find(std::to_string(server.port())), std::string::npos) << log;
    EXPECT_EQ(log.find("ratelimit.limit\" 200"), std::string::npos) << "no line per request";
}

}  // namespace
}  // namespace sluice::server_test
