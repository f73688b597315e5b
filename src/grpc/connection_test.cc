#include "grpc/connection.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/test_server.h"

namespace sluice::grpc {
namespace {

using namespace std::chrono_literals;
using http::wait_until;

http::WireLimits with(std::chrono::milliseconds http::WireLimits::*timeout,
                      std::chrono::milliseconds value) {
    http::WireLimits limits;
    limits.*timeout = value;
    return limits;
}

TEST(GrpcConnection, AnswersCalls) {
    const GrpcTestServer server;
    TestConnection client(server.port());
    EXPECT_EQ(client.call({.body = framed("hello")}).body, framed("hello"));
    EXPECT_EQ(client.call({.body = framed("again")}).status(), "0");
    EXPECT_EQ(client.call({.body = framed("page")}).body.size(), 64UL * 1024 + 5);
}

TEST(GrpcConnection, AnswersCallsThatAnotherThreadCompletes) {
    const GrpcTestServer server;
    TestConnection client(server.port());
    EXPECT_EQ(client.call({.body = framed("later")}).body, framed("answered later"));
}

TEST(GrpcConnection, AnswersOtherCallsWhileOneIsDeferred) {
    GrpcTestServer server;
    TestConnection client(server.port());
    const std::int32_t held = client.peer().start({.body = framed("held")});
    EXPECT_EQ(client.call({.body = framed("hello")}).body, framed("hello"));
    server.release_held();
    EXPECT_EQ(client.finish(held).body, framed("released"));
}

TEST(GrpcConnection, EndsADeferredCallAtItsDeadline) {
    GrpcTestServer server;
    TestConnection client(server.port());
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(client.call({.body = framed("held"), .fields = {{"grpc-timeout", "50m"}}}).status(),
              "4");
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, 50ms);
    EXPECT_LT(took, 450ms) << "ticks are 500 ms apart otherwise";
    EXPECT_EQ(server.session_counters().expired.get(), 1);
    server.release_held();
    EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
}

TEST(GrpcConnection, KeepsTheDeadlinesOfManyCallsInOrder) {
    GrpcTestServer server;
    TestConnection client(server.port());
    std::vector<std::int32_t> streams;
    for (const char* const timeout : {"10S", "90m", "30m", "60m"})
        streams.push_back(
            client.peer().start({.body = framed("held"), .fields = {{"grpc-timeout", timeout}}}));
    client.flush();
    EXPECT_EQ(client.finish(streams[2]).status(), "4");
    EXPECT_FALSE(client.peer().response(streams[1]).is_closed);
    EXPECT_EQ(client.finish(streams[1]).status(), "4");
    EXPECT_TRUE(client.peer().response(streams[3]).is_closed);
    server.release_held();
    EXPECT_EQ(client.finish(streams[0]).body, framed("released"));
}

TEST(GrpcConnection, SurvivesAClientThatLeavesDeferredCalls) {
    GrpcTestServer server;
    {
        TestConnection client(server.port());
        client.peer().start({.body = framed("held")});
        client.flush();
        wait_until([&] { return server.held() == 1; });
    }
    wait_until([&] { return server.counters().connections.get() == 0; });
    server.release_held();
    TestConnection client(server.port());
    EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
}

TEST(GrpcConnection, ClosesWhatIsNoHttp2) {
    const GrpcTestServer server;
    http::TestClient client(server.port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    // SETTINGS at most.
    EXPECT_EQ(client.read_to_end().find("HTTP/1.1"), std::string::npos);
}

TEST(GrpcConnection, EndsAnIdleConnectionWithGoaway) {
    const GrpcTestServer server({.limits = with(&http::WireLimits::idle_timeout, 50ms)});
    TestConnection client(server.port());
    EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
    client.read_to_end();
    EXPECT_EQ(client.peer().goaway_error, NGHTTP2_NO_ERROR);
    EXPECT_EQ(server.counters().timeouts.get(), 0);
}

TEST(GrpcConnection, KeepsAConnectionThatHasACall) {
    GrpcTestServer server({.limits = with(&http::WireLimits::idle_timeout, 20ms)});
    TestConnection client(server.port());
    const std::int32_t held = client.peer().start({.body = framed("held")});
    client.flush();
    wait_until([&] { return server.held() == 1; });
    std::this_thread::sleep_for(100ms);
    server.release_held();
    EXPECT_EQ(client.finish(held).body, framed("released"));
}

TEST(GrpcConnection, EndsACallWhoseRequestStaysIncompleteAndNoOther) {
    GrpcTestServer server({.limits = with(&http::WireLimits::body_timeout, 50ms)});
    TestConnection client(server.port());
    const std::int32_t held = client.peer().start({.body = framed("held")});
    const std::int32_t stalled =
        client.peer().start({.body = framed("hello").substr(0, 7), .ends = false});
    client.flush();
    EXPECT_EQ(client.finish(stalled).status(), "4");
    EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
    server.release_held();
    EXPECT_EQ(client.finish(held).body, framed("released"));
    EXPECT_FALSE(client.peer().goaway_error);
    EXPECT_EQ(server.session_counters().expired.get(), 1);
    EXPECT_EQ(server.counters().timeouts.get(), 0);
}

TEST(GrpcConnection, EndsACallWhoseRequestStaysIncompleteAlsoWhileOthersEnd) {
    const GrpcTestServer server({.limits = with(&http::WireLimits::body_timeout, 100ms)});
    TestConnection client(server.port());
    const std::int32_t stalled =
        client.peer().start({.body = framed("hello").substr(0, 7), .ends = false});
    const auto began = std::chrono::steady_clock::now();
    while (!client.peer().response(stalled).is_closed) {
        EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
        ASSERT_LT(std::chrono::steady_clock::now() - began, 10s);
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_GE(std::chrono::steady_clock::now() - began, 90ms);
    EXPECT_EQ(client.peer().response(stalled).status(), "4");
}

TEST(GrpcConnection, EndsAConnectionOfWhichTooManyRequestsStayIncomplete) {
    GrpcTestServer::Options options{.limits = with(&http::WireLimits::body_timeout, 50ms)};
    options.session.resets = {.burst = 2, .per_second = 0};
    const GrpcTestServer server(options);
    TestConnection client(server.port());
    const auto stall = [&] {
        const std::int32_t stream =
            client.peer().start({.body = framed("hello").substr(0, 7), .ends = false});
        client.flush();
        return client.finish(stream).status();
    };
    EXPECT_EQ(stall(), "4");
    EXPECT_EQ(stall(), "4") << "the first one did not earn another";
    EXPECT_EQ(stall(), "");
    client.read_to_end();
    EXPECT_EQ(client.peer().goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
    EXPECT_EQ(server.counters().timeouts.get(), 1);
}

TEST(GrpcConnection, EndsAConnectionWhoseClientKeepsItsWindowClosed) {
    const GrpcTestServer server({.limits = with(&http::WireLimits::write_timeout, 100ms)});
    TestConnection client(server.port(), 10);
    const std::int32_t stream = client.peer().start({.body = framed("a long message")});
    // Byte by byte, the answer is never complete.
    client.flush();
    client.read_to_end();
    EXPECT_FALSE(client.peer().response(stream).is_closed);
    EXPECT_EQ(server.counters().timeouts.get(), 1);
}

TEST(GrpcConnection, EndsAConnectionWhoseClientDoesNotRead) {
    const GrpcTestServer server({.limits = with(&http::WireLimits::write_timeout, 100ms)});
    TestConnection client(server.port(), 1024U * 1024, http::kSmallWindow);
    client.peer().open_window(0, 1024 * 1024 * 1024);
    for (int i = 0; i < 100; ++i)
        client.peer().start({.body = framed("page")});
    client.flush();
    wait_until([&] { return server.counters().timeouts.get() == 1; });
    wait_until([&] { return server.counters().connections.get() == 0; });
    wait_until([&] { return server.counters().buffered.get() == 0; });
}

TEST(GrpcConnection, BoundsTheMemoryOfUnreadAnswers) {
    http::WireLimits limits;
    limits.buffered = 512UL * 1024;
    const GrpcTestServer server({.limits = limits});
    TestConnection client(server.port(), 1, http::kSmallWindow);
    for (int i = 0; i < 50; ++i)
        client.peer().start({.body = framed("page")});
    client.flush();
    client.read_to_end();
    EXPECT_EQ(server.counters().shed.get(), 1);
    wait_until([&] { return server.counters().buffered.get() == 0; });
}

TEST(GrpcConnection, BoundsTheMemoryOfUnfinishedRequests) {
    http::WireLimits limits;
    limits.buffered = 256UL * 1024;
    const GrpcTestServer server({.limits = limits});
    TestConnection client(server.port());
    const std::string body = framed(std::string(60'000, 'x'));
    for (int i = 0; i < 10; ++i)
        client.peer().start({.body = body.substr(0, 50'000), .ends = false});
    client.flush();
    client.read_to_end();
    EXPECT_EQ(server.counters().shed.get(), 1);
}

TEST(GrpcConnection, EndsAConnectionWithoutACallAfterTheTimeForAHead) {
    const GrpcTestServer server({.limits = with(&http::WireLimits::header_timeout, 50ms)});
    http::TestClient silent(server.port());
    TestConnection without_calls(server.port());
    silent.read_to_end();
    without_calls.read_to_end();
    EXPECT_EQ(without_calls.peer().goaway_error, NGHTTP2_NO_ERROR);
    EXPECT_EQ(server.counters().timeouts.get(), 2);
}

TEST(GrpcConnection, ClosesOnAFloodOfPings) {
    GrpcTestServer::Options options;
    options.session.control_frames = {.burst = 20, .per_second = 0};
    const GrpcTestServer server(options);
    TestConnection client(server.port());
    for (int i = 0; i < 40; ++i)
        client.peer().ping();
    client.flush();
    client.read_to_end();
    EXPECT_EQ(client.peer().goaway_error, NGHTTP2_ENHANCE_YOUR_CALM);
    EXPECT_EQ(server.session_counters().floods.get(), 1);
}

TEST(GrpcConnection, EndsAnOldConnectionAfterItsCalls) {
    GrpcTestServer::Options options{.limits = with(&http::WireLimits::linger_timeout, 20ms)};
    options.age.most = 100ms;
    GrpcTestServer server(options);
    TestConnection client(server.port());
    const std::int32_t held = client.peer().start({.body = framed("held")});
    client.flush();
    while (!client.peer().goaway_error)
        ASSERT_TRUE(client.read());
    EXPECT_EQ(client.peer().goaway_error, NGHTTP2_NO_ERROR);
    server.release_held();
    EXPECT_EQ(client.finish(held).body, framed("released"));
    client.read_to_end();
    EXPECT_EQ(client.peer().goaway_last, held);
}

TEST(GrpcConnection, SpreadsTheEndsOfConnectionsThatBeganTogether) {
    GrpcTestServer::Options options{.limits = with(&http::WireLimits::linger_timeout, 20ms)};
    options.age.most = 1s;
    GrpcTestServer server(options);
    std::vector<std::unique_ptr<TestConnection>> clients;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 16; ++i)
        clients.push_back(std::make_unique<TestConnection>(server.port()));
    // Each is watched by itself: the others must not delay what is measured.
    std::vector<std::chrono::steady_clock::duration> ages(clients.size());
    std::vector<std::thread> watchers;
    for (std::size_t i = 0; i < clients.size(); ++i) {
        watchers.emplace_back([&client = *clients[i], &age = ages[i], began] {
            while (!client.peer().goaway_error && client.read()) {
            }
            age = std::chrono::steady_clock::now() - began;
        });
    }
    for (std::thread& watcher : watchers)
        watcher.join();
    const auto [first, last] = std::ranges::minmax(ages);
    EXPECT_GE(first, 490ms);
    EXPECT_GT(last - first, 150ms) << "without a spread, they end in the same tick";
    clients.clear();
    wait_until([&] { return server.counters().connections.get() == 0; });
}

TEST(GrpcConnection, AbortsAnOldConnectionWhoseCallsDoNotEnd) {
    GrpcTestServer::Options options{.limits = with(&http::WireLimits::linger_timeout, 20ms)};
    options.age = {.most = 50ms, .grace = 50ms};
    GrpcTestServer server(options);
    TestConnection client(server.port());
    const std::int32_t held = client.peer().start({.body = framed("held")});
    client.flush();
    client.read_to_end();
    EXPECT_FALSE(client.peer().response(held).is_closed);
    server.release_held();
}

TEST(GrpcConnection, AbortsAnIdleConnectionThatGrowsOldWithACall) {
    GrpcTestServer::Options options{.limits = with(&http::WireLimits::idle_timeout, 50ms)};
    options.age = {.most = 1s, .grace = 50ms};
    GrpcTestServer server(options);
    TestConnection client(server.port());
    EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
    const auto began = std::chrono::steady_clock::now();
    // The client sends this call before it reads that the connection is drained.
    std::this_thread::sleep_for(200ms);
    const std::int32_t held = client.peer().start({.body = framed("held")});
    client.flush();
    client.read_to_end();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s) << "reads give up after 20 s";
    EXPECT_EQ(server.held(), 1);
    EXPECT_FALSE(client.peer().response(held).is_closed);
    server.release_held();
}

// That time is for connections that are old.
TEST(GrpcConnection, AShutdownDoesNotCutCallsAfterTheGraceOfAnOldConnection) {
    GrpcTestServer::Options options{.limits = with(&http::WireLimits::linger_timeout, 20ms)};
    options.age.grace = 20ms;
    GrpcTestServer server(options);
    TestConnection client(server.port());
    const std::int32_t held = client.peer().start({.body = framed("held")});
    client.flush();
    wait_until([&] { return server.held() == 1; });
    server.start_drain(20s);
    // Until the client has acknowledged that, and the server has named the last call.
    while (client.peer().goaway_last != held)
        ASSERT_TRUE(client.read());
    std::this_thread::sleep_for(100ms);
    server.release_held();
    EXPECT_EQ(client.finish(held).body, framed("released"));
    client.read_to_end();
    wait_until([&] { return server.is_drained(); });
}

TEST(GrpcConnection, DrainsWithItsListener) {
    GrpcTestServer server;
    TestConnection idle(server.port());
    TestConnection busy(server.port());
    EXPECT_EQ(idle.call({.body = framed("hello")}).status(), "0");
    const std::int32_t held = busy.peer().start({.body = framed("held")});
    busy.flush();
    wait_until([&] { return server.held() == 1; });
    server.start_drain(20s);
    idle.read_to_end();
    EXPECT_EQ(idle.peer().goaway_error, NGHTTP2_NO_ERROR);
    // A call that was sent before the client knew is answered.
    while (!busy.peer().goaway_error)
        ASSERT_TRUE(busy.read());
    EXPECT_FALSE(server.is_drained());
    server.release_held();
    EXPECT_EQ(busy.finish(held).body, framed("released"));
    busy.read_to_end();
    wait_until([&] { return server.is_drained(); });
}

}  // namespace
}  // namespace sluice::grpc
