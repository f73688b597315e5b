// The origin in Redis against servers that crash, stall, come back and lose data.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

KeySpend spend_of(const CellName& cell) {
    return {.components = components_of(cell, 1),
            .requests = {{.elapsed = Duration(0), .ask = {.cost = 1, .limit = 100}}}};
}

TEST(RedisOutage, ACrashLosesTheData) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    client.sync(cell_of("alice"), 3);
    server.kill();
    ASSERT_TRUE(client.becomes_unavailable());
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    server.start();
    ASSERT_TRUE(client.becomes_available());
    EXPECT_EQ(client.intact, (std::vector<bool>{true, false}));
    ASSERT_TRUE(client.read(cell_of("alice")).has_value());
    EXPECT_EQ(client.read(cell_of("alice"))->total, 0U);
}

TEST(RedisOutage, IsReportedOncePerReason) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    server.kill();
    client.run_for(2500ms);
    // That the connection was closed, and that nothing listens.
    ASSERT_EQ(client.failures.size(), 2U);
    EXPECT_NE(client.failures[1].find("connection refused"), std::string::npos)
        << client.failures[1];
}

TEST(RedisOutage, AStalledServerIsUnavailableAfterTheTimeout) {
    RedisServer server;
    OriginClient client(server.url(), {.timeout = 250ms});
    ASSERT_TRUE(client.becomes_available());
    client.sync(cell_of("alice"), 3);
    server.pause();
    const auto begin = Clock::now();
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    const auto took = Clock::now() - begin;
    EXPECT_GE(took, 240ms);
    EXPECT_LT(took, 2s);
    ASSERT_TRUE(client.becomes_unavailable());
    EXPECT_NE(client.failures[0].find("no answer within 250 ms"), std::string::npos)
        << client.failures[0];
    const auto again = Clock::now();
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    EXPECT_LT(Clock::now() - again, 100ms);
    server.resume();
    ASSERT_TRUE(client.becomes_available());
    EXPECT_EQ(client.intact, (std::vector<bool>{true, true}));
    EXPECT_EQ(client.read(cell_of("alice"))->total, 3U);
}

TEST(RedisOutage, AHeartbeatNoticesAStalledServer) {
    RedisServer server;
    OriginClient client(server.url(), {.timeout = 250ms});
    ASSERT_TRUE(client.becomes_available());
    server.pause();
    EXPECT_FALSE(client.heartbeat().has_value());
    ASSERT_TRUE(client.becomes_unavailable());
    server.resume();
}

TEST(RedisOutage, NoticesThatTheServerWasEmptiedInBetween) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    server.command({"FLUSHALL"});
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(client.becomes_unavailable());
    ASSERT_TRUE(client.becomes_available());
    EXPECT_EQ(client.intact, (std::vector<bool>{true, false}));
}

TEST(RedisOutage, ALostConnectionAloneLosesNothing) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(client.becomes_unavailable());
    ASSERT_TRUE(client.becomes_available());
    EXPECT_EQ(client.intact, (std::vector<bool>{true, true}));
    EXPECT_TRUE(client.heartbeat().has_value());
    EXPECT_EQ(client.losses, 0);
}

TEST(RedisOutage, AnswersOutstandingCallsWithoutAValue) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    server.pause();
    int answers = 0;
    int values = 0;
    for (int i = 0; i < 100; ++i) {
        client.origin().sync({components_of(cell_of("alice"), 1)}, [&](const auto& answer) {
            ++answers;
            values += answer.front() ? 1 : 0;
        });
        client.origin().spend({spend_of(cell_of("alice"))}, [&](const auto& answer) {
            ++answers;
            values += answer.front() ? 1 : 0;
        });
        client.origin().heartbeat([&](const HeartbeatAnswer& answer) {
            ++answers;
            values += answer ? 1 : 0;
        });
    }
    client.run_for(50ms);
    server.kill();
    EXPECT_TRUE(client.run_until([&] { return answers == 300; }));
    EXPECT_EQ(values, 0);
    EXPECT_TRUE(client.refusals.empty());
}

TEST(RedisOutage, AnswersAtOnceWhileUnavailable) {
    OriginClient client("redis://127.0.0.1:1", {.timeout = 10s});
    ASSERT_TRUE(client.becomes_unavailable());
    const auto begin = Clock::now();
    EXPECT_FALSE(client.sync(cell_of("alice"), 1).has_value());
    EXPECT_FALSE(client.spend({spend_of(cell_of("alice"))})[0].has_value());
    EXPECT_FALSE(client.heartbeat().has_value());
    EXPECT_FALSE(client.list({cell_of("alice")})[0].has_value());
    EXPECT_LT(Clock::now() - begin, 2s);
}

}  // namespace
}  // namespace sluice::redis_test
