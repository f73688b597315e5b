// Tests the memory that a listener uses for clients that don't read.
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "http/wire/test_server.h"

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

TEST(UnreadAnswers, ClosesOnAClientThatReadsALittleNowAndThen) {
    HttpTestServer server({.write_timeout = 1s});
    TestClient client(server.port());
    client.send(get("/big"));
    // Each read makes room for a part of the answer, which must not extend the deadline.
    std::vector<char> bytes(64UL * 1024);
    std::size_t read = 0;
    while (server.counters().timeouts.get() == 0) {
        const ssize_t got = recv(client.socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got > 0) read += static_cast<std::size_t>(got);
        ASSERT_LT(read, 8UL * 1024 * 1024) << "the whole answer was sent";
        std::this_thread::sleep_for(20ms);
    }
    wait_until([&] { return server.counters().connections.get() == 0; });
}

TEST(UnreadAnswers, BoundsWhatItKeepsForUnfinishedRequests) {
    HttpTestServer server({.buffered = 10'000});
    TestClient client(server.port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n" +
                std::string(15'000, 'x'));
    EXPECT_EQ(client.read_answer(), "503 The server holds too many unfinished requests.");
}

TEST(UnreadAnswers, CountAgainstTheMemoryCapWithoutAffectingOtherConnections) {
    constexpr std::size_t kCap = 4UL * 1024 * 1024;
    HttpTestServer server({.buffered = kCap});
    std::string requests;
    for (int i = 0; i < 64; ++i)
        requests += get("/page");
    std::deque<TestClient> silent;
    for (int i = 0; i < 200; ++i) {
        silent.emplace_back(server.port(), kSmallWindow);
        silent.back().send(requests);
        if (i % 10 != 0) continue;
        TestClient client(server.port());
        client.send("POST /two HTTP/1.1\r\nHost: h\r\n");
        // The answer to a third client shows that the first half was read.
        TestClient other(server.port());
        other.send(get("/other"));
        ASSERT_EQ(other.read_answer(), "200 GET /other? ");
        client.send("Content-Length: 4\r\n\r\nbody");
        ASSERT_EQ(client.read_answer(), "200 POST /two? body") << "after " << i << " attackers";
        EXPECT_LE(server.counters().buffered.get(), kCap);
    }
    EXPECT_GT(server.counters().shed.get(), 0);
    // No answers were made far ahead of what was read.
    EXPECT_LT(server.counters().requests.get(), 200 * 64);
}

TEST(UnreadAnswers, ClosesTheConnectionsThatHoldMostFirst) {
    HttpTestServer server({.buffered = 1'000'000});
    TestClient small(server.port());
    small.send("POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n" +
               std::string(10'000, 'x'));
    TestClient large(server.port());
    large.send("POST /large HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" +
               std::string(999'000, 'x'));
    EXPECT_EQ(large.read_answer(), "503 The server holds too many unfinished requests.");
    EXPECT_EQ(large.read_answer(), "closed");
    small.send(std::string(10'000, 'x'));
    EXPECT_EQ(small.read_answer(), "200 POST /small? " + std::string(20'000, 'x'));
    EXPECT_EQ(server.counters().shed.get(), 1);
}

TEST(UnreadAnswers, ReleasesTheMemoryOfFinishedRequests) {
    HttpTestServer server;
    TestClient client(server.port());
    client.send(post("/a", std::string(500'000, 'x')) + "GET /b HTTP/1.1\r\n");
    EXPECT_TRUE(client.read_answer().starts_with("200 POST /a?"));
    TestClient other(server.port());
    other.send(get("/other"));
    EXPECT_EQ(other.read_answer(), "200 GET /other? ");
    EXPECT_LT(server.counters().buffered.get(), 70'000);
    client.send("Host: h\r\n\r\n");
    EXPECT_EQ(client.read_answer(), "200 GET /b? ");
    other.send(get("/other"));
    EXPECT_EQ(other.read_answer(), "200 GET /other? ");
    EXPECT_EQ(server.counters().buffered.get(), 0);
}

TEST(UnreadAnswers, ReadsNothingFromAClientThatDoesNotRead) {
    HttpTestServer server;
    TestClient client(server.port());
    std::string all;
    for (int i = 0; i < 20; ++i)
        all += get("/big");
    client.send(all);
    // The socket buffers hold a few answers; further requests must wait for the client.
    wait_until([&] { return server.counters().requests.get() >= 1; });
    std::this_thread::yield();
    EXPECT_LT(server.counters().requests.get(), 20);
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(client.read_answer().size(), 4 + 8UL * 1024 * 1024);
    EXPECT_EQ(server.counters().requests.get(), 20);
}

TEST(UnreadAnswers, ClosesOnAClientThatNeverReads) {
    HttpTestServer server({.write_timeout = 50ms});
    TestClient client(server.port());
    client.send(get("/big") + get("/big"));
    wait_until([&] {
        return server.counters().connections.get() == 0 && server.counters().accepted.get() == 1;
    });
    EXPECT_EQ(server.counters().timeouts.get(), 1);
}

}  // namespace
}  // namespace sluice::http
