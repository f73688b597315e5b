// Clients that are slow, silent, greedy or too many.
#include <thread>

#include <gtest/gtest.h>

#include "support/http_answer.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLimit = "/v2/ratelimit.limit";
constexpr std::string_view kBody =
    R"({"namespace":"n","identifier":"i","limit":1,"duration":1000})";

ServerOptions impatient(const std::string& settings) {
    return {.config = "[http]\n" + settings};
}

// Sends a byte now and then, never enough, until the server has had enough of it. Returns what it
// said.
std::string trickle(Connection& connection, char byte) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (connection.stays_silent(20ms)) {
        if (!connection.try_send({&byte, 1})) break;
        if (std::chrono::steady_clock::now() > deadline) return "the server did not answer in time";
    }
    return connection.receive_rest();
}

TEST(SlowClient, WithASlowHeaderIsClosedWith408) {
    const Server server(impatient("header_timeout = \"300ms\"\n"));
    Connection connection = server.connect();
    connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    EXPECT_TRUE(trickle(connection, 'x').starts_with("HTTP/1.1 408 "));
    EXPECT_EQ(server.get("/healthz").status, 200);
}

TEST(SlowClient, WithASlowBodyIsClosedWith408) {
    const Server server(impatient("body_timeout = \"300ms\"\n"));
    Connection connection = server.connect();
    connection.send(post(kLimit, "", {{"Content-Length", "1000000"}}));
    EXPECT_TRUE(trickle(connection, ' ').starts_with("HTTP/1.1 408 "));
}

TEST(SlowClient, ThatSendsNothingIsClosed) {
    const Server server(impatient("header_timeout = \"300ms\"\nidle_timeout = \"300ms\"\n"));
    Connection connection = server.connect();
    const std::string rest = connection.receive_rest();
    EXPECT_TRUE(rest.empty() || rest.starts_with("HTTP/1.1 408 ")) << rest;
}

TEST(SlowClient, ThatIsIdleBetweenRequestsIsClosedWithoutAResponse) {
    const Server server(impatient("idle_timeout = \"300ms\"\n"));
    Connection connection = server.connect();
    EXPECT_EQ(connection.ask(post(kLimit, kBody)).status, 200);
    EXPECT_EQ(connection.receive_rest(), "");
}

TEST(SlowClient, ThatNeverReadsIsClosed) {
    const Server server(impatient("write_timeout = \"500ms\"\n"));
    Connection connection = Connection::with_small_window(server.port());
    std::string requests;
    for (int i = 0; i < 100; ++i)
        requests += post(kLimit, kBody);
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (connection.try_send(requests)) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the server kept the connection";
        std::this_thread::sleep_for(1ms);
    }
}

// Clients that ask for large answers and read none of them, many more than the memory holds.
TEST(UnreadAnswers, AreBoundedInMemoryWhileOthersAreServed) {
    constexpr double kCap = 4 << 20;
    const Server server(
        {.flags = {"--threads", "1"}, .config = "[http]\nmax_buffered_bytes = 4194304\n"});
    for (int i = 0; i < 100; ++i) {
        const std::string identifier = std::to_string(i) + std::string(400, 'x');
        ASSERT_EQ(server
                      .ask("/v2/ratelimit.setOverride",
                           R"({"namespace":"n","identifier":")" + identifier +
                               R"(","limit":1,"duration":1000})")
                      .status,
                  200);
    }
    std::string requests;
    for (int i = 0; i < 10; ++i)
        requests += post("/v2/ratelimit.listOverrides", R"({"namespace":"n","limit":100})");
    std::vector<Connection> silent;
    for (int i = 0; i < 600; ++i) {
        silent.push_back(Connection::with_small_window(server.port()));
        silent.back().try_send(requests);
    }
    const std::string request = post(kLimit, kBody);
    for (int i = 0; i < 20; ++i) {
        Connection client = server.connect();
        client.send(request.substr(0, 60));
        EXPECT_TRUE(client.stays_silent(10ms));
        client.send(request.substr(60));
        EXPECT_EQ(client.receive().status, 200);
        EXPECT_LE(sum_of(server.get("/metrics").body, "sluice_http_buffered_bytes"), kCap);
    }
    EXPECT_GT(sum_of(server.get("/metrics").body, "sluice_http_connections_shed_total"), 0);
}

TEST(SlowClient, DoesNotDelayOtherClients) {
    const Server server({.flags = {"--threads", "1"}});
    std::vector<Connection> slow;
    for (int i = 0; i < 200; ++i) {
        slow.push_back(server.connect());
        slow.back().send("POST /v2/ratelimit.limit HTTP/1.1\r\nHost: localhost\r\n");
    }
    EXPECT_EQ(server.ask(kLimit, kBody).status, 200);
}

TEST(SlowClient, IsCounted) {
    const Server server(impatient("header_timeout = \"200ms\"\n"));
    Connection connection = server.connect();
    connection.send("GET /healthz");
    connection.receive_rest();
    EXPECT_EQ(sum_of(server.get("/metrics").body, "sluice_http_timeouts_total"), 1);
}

TEST(TooManyClients, AreRefusedWhileAllOthersHaveARequest) {
    const Server server({.flags = {"--threads", "1"}, .config = "[http]\nmax_connections = 2\n"});
    Connection first = server.connect();
    Connection second = server.connect();
    for (Connection* connection : {&first, &second}) {
        EXPECT_EQ(connection->ask(get_request("/healthz")).status, 200);
        const std::string request = post(kLimit, kBody);
        connection->send(request.substr(0, request.size() - 1));
    }
    Connection third = server.connect();
    third.try_send(get_request("/healthz"));
    const std::string rest = third.receive_rest();
    EXPECT_TRUE(rest.empty() || rest.starts_with("HTTP/1.1 503 ")) << rest;
    for (Connection* connection : {&first, &second}) {
        connection->send(kBody.substr(kBody.size() - 1));
        EXPECT_EQ(connection->receive().status, 200);
    }
    EXPECT_EQ(sum_of(server.get("/metrics").body, "sluice_http_connections_refused_total"), 1);
}

TEST(TooManyClients, ThatSendNothingKeepNoOthersOut) {
    constexpr int kMost = 20;
    const Server server({.flags = {"--threads", "1"}, .config = "[http]\nmax_connections = 20\n"});
    std::vector<Connection> silent;
    for (int i = 0; i < 5 * kMost; ++i)
        silent.push_back(server.connect());
    for (int i = 0; i < 2 * kMost; ++i)
        EXPECT_EQ(server.get("/healthz").status, 200);
    const std::string metrics = server.get("/metrics").body;
    EXPECT_GE(sum_of(metrics, "sluice_http_connections_evicted_total"), 4 * kMost);
    EXPECT_EQ(sum_of(metrics, "sluice_http_connections_refused_total"), 0);
}

}  // namespace
}  // namespace sluice::server_test
