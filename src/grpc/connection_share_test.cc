// What one client leaves to others: places for connections, and turns.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/test_server.h"

namespace sluice::grpc {
namespace {

using http::wait_until;

TEST(GrpcConnection, RefusesConnectionsAboveTheLimit) {
    http::WireLimits limits;
    limits.connections = 1;
    GrpcTestServer server({.limits = limits});
    TestConnection first(server.port());
    const std::int32_t held = first.peer().start({.body = framed("held")});
    first.flush();
    wait_until([&] { return server.held() == 1; });
    TestConnection second(server.port());
    second.read_to_end();
    EXPECT_EQ(second.peer().goaway_error, NGHTTP2_NO_ERROR);
    EXPECT_EQ(server.counters().refused.get(), 1);
    server.release_held();
    EXPECT_EQ(first.finish(held).status(), "0");
}

TEST(GrpcConnection, ClosesTheLongestIdleConnectionAtTheLimit) {
    http::WireLimits limits;
    limits.connections = 2;
    GrpcTestServer server({.limits = limits});
    TestConnection busy(server.port());
    const std::int32_t held = busy.peer().start({.body = framed("held")});
    busy.flush();
    wait_until([&] { return server.held() == 1; });
    TestConnection idle(server.port());
    EXPECT_EQ(idle.call({.body = framed("hello")}).status(), "0");
    TestConnection next(server.port());
    EXPECT_EQ(next.call({.body = framed("hello")}).status(), "0");
    idle.read_to_end();
    EXPECT_EQ(idle.peer().goaway_error, NGHTTP2_NO_ERROR);
    EXPECT_EQ(server.counters().evicted.get(), 1);
    EXPECT_EQ(server.counters().refused.get(), 0);
    server.release_held();
    EXPECT_EQ(busy.finish(held).status(), "0");
}

TEST(GrpcConnection, AdmitsNewConnectionsWhileManyAreSilent) {
    http::WireLimits limits;
    limits.connections = 10;
    const GrpcTestServer server({.limits = limits});
    std::deque<http::TestClient> silent;
    std::deque<TestConnection> without_calls;
    for (int i = 0; i < 20; ++i) {
        silent.emplace_back(server.port());
        without_calls.emplace_back(server.port());
    }
    for (int i = 0; i < 20; ++i) {
        TestConnection client(server.port());
        ASSERT_EQ(client.call({.body = framed("hello")}).status(), "0");
    }
    EXPECT_EQ(server.counters().refused.get(), 0);
}

TEST(GrpcConnection, ServesOthersBeforeAllCallsOfOneClient) {
    constexpr int kCalls = 1'000;
    GrpcTestServer server;
    TestConnection busy(server.port());
    TestConnection neighbour(server.port());
    for (TestConnection* client : {&busy, &neighbour})
        ASSERT_EQ(client->call({.body = framed("hello")}).status(), "0");
    http::BusyThread thread(server);
    std::vector<std::int32_t> streams;
    for (int i = 0; i < kCalls; ++i)
        streams.push_back(busy.peer().start({.body = framed("count")}));
    busy.flush();
    const std::int32_t other = neighbour.peer().start({.body = framed("count")});
    neighbour.flush();
    thread.release();
    const std::string number = messages_of(neighbour.finish(other).body).at(0);
    EXPECT_LT(std::stoi(number), 100) << "calls that were handled before";
    for (const std::int32_t stream : streams)
        ASSERT_EQ(busy.finish(stream).status(), "0");
}

TEST(GrpcConnection, AnswersAllCallsThatArriveTogether) {
    constexpr int kCalls = 1'000;
    http::WireLimits limits;
    // Less than a call needs; the connection goes on in the next turn.
    limits.turn = {.bytes = 10, .records = 1, .calls = 1};
    GrpcTestServer server({.limits = limits});
    TestConnection client(server.port());
    // Until it has the server's settings, a client starts 100 at most.
    EXPECT_EQ(client.call({.body = framed("hello")}).status(), "0");
    std::vector<std::int32_t> streams;
    for (int i = 0; i < kCalls; ++i)
        streams.push_back(client.peer().start({.body = framed(i % 10 == 0 ? "held" : "hello")}));
    client.flush();
    wait_until([&] { return server.held() == kCalls / 10; });
    server.release_held();
    for (const std::int32_t stream : streams)
        ASSERT_EQ(client.finish(stream).status(), "0");
    EXPECT_EQ(server.session_counters().calls.get(), 1 + kCalls);
}

}  // namespace
}  // namespace sluice::grpc
