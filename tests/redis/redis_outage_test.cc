// The origin in Redis against servers that go away, come back and forget.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "redis/origin_client.h"
#include "redis/redis_server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(RedisOutage, AServerThatCrashedComesBackEmpty) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    client.raise(cell_of("alice"), 3);
    server.kill();
    ASSERT_TRUE(client.becomes_away());
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    server.start();
    ASSERT_TRUE(client.becomes_back());
    EXPECT_EQ(client.backs, (std::vector<bool>{true, false}));
    ASSERT_TRUE(client.read(cell_of("alice")).has_value());
    EXPECT_EQ(client.read(cell_of("alice"))->total, 0U);
}

TEST(RedisOutage, IsToldOncePerReason) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    server.kill();
    client.run_for(2500ms);
    // That it went, and that it is not there.
    ASSERT_EQ(client.whys.size(), 2U);
    EXPECT_NE(client.whys[1].find("connection refused"), std::string::npos) << client.whys[1];
}

TEST(RedisOutage, AServerThatStandsStillIsGivenUpAfterTheTimeout) {
    RedisServer server;
    OriginClient client(server.url(), {.timeout = 250ms});
    ASSERT_TRUE(client.becomes_back());
    client.raise(cell_of("alice"), 3);
    server.pause();
    const auto begin = Clock::now();
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    const auto took = Clock::now() - begin;
    EXPECT_GE(took, 240ms);
    EXPECT_LT(took, 2s);
    ASSERT_TRUE(client.becomes_away());
    EXPECT_NE(client.whys[0].find("no answer within 250 ms"), std::string::npos) << client.whys[0];
    const auto again = Clock::now();
    EXPECT_FALSE(client.read(cell_of("alice")).has_value());
    EXPECT_LT(Clock::now() - again, 100ms);
    server.resume();
    ASSERT_TRUE(client.becomes_back());
    EXPECT_EQ(client.backs, (std::vector<bool>{true, true}));
    EXPECT_EQ(client.read(cell_of("alice"))->total, 3U);
}

TEST(RedisOutage, AnIdleConnectionToAStoppedServerIsNoticed) {
    RedisServer server;
    OriginClient client(server.url(), {.timeout = 250ms});
    ASSERT_TRUE(client.becomes_back());
    server.pause();
    const auto begin = Clock::now();
    ASSERT_TRUE(client.becomes_away());
    EXPECT_LT(Clock::now() - begin, 4s);
    server.resume();
}

TEST(RedisOutage, AServerThatIsEmptiedHasForgotten) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    client.run_for(1200ms);
    EXPECT_EQ(client.forgot, 0);
    server.command({"FLUSHALL"});
    server.command({"SCRIPT", "FLUSH"});
    const auto begin = Clock::now();
    ASSERT_TRUE(client.run_until([&] { return client.forgot > 0; }));
    EXPECT_LT(Clock::now() - begin, 1800ms);
    client.run_for(2200ms);
    EXPECT_EQ(client.forgot, 1);
    EXPECT_EQ(client.backs.size(), 1U);
    EXPECT_TRUE(client.whys.empty());
}

TEST(RedisOutage, AServerThatIsEmptiedWhileWeAreAwayHasForgotten) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    server.command({"FLUSHALL"});
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(client.becomes_away());
    ASSERT_TRUE(client.becomes_back());
    EXPECT_EQ(client.backs, (std::vector<bool>{true, false}));
}

TEST(RedisOutage, ALostConnectionAloneForgetsNothing) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(client.becomes_away());
    ASSERT_TRUE(client.becomes_back());
    EXPECT_EQ(client.backs, (std::vector<bool>{true, true}));
    client.run_for(1500ms);
    EXPECT_EQ(client.forgot, 0);
}

TEST(RedisOutage, APrimaryThatBecameAReplicaIsLeft) {
    RedisServer server;
    RedisServer primary;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    EXPECT_FALSE(client.raise(cell_of("alice"), 1).has_value());
    ASSERT_TRUE(client.becomes_away());
    EXPECT_NE(client.whys[0].find("READONLY"), std::string::npos) << client.whys[0];
    server.command({"REPLICAOF", "NO", "ONE"});
    ASSERT_TRUE(client.becomes_back());
    EXPECT_TRUE(client.raise(cell_of("alice"), 1).has_value());
}

TEST(RedisOutage, CallsThatAreCutOffAreAnsweredByNothing) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_back());
    server.pause();
    int answers = 0;
    int nothing = 0;
    for (int i = 0; i < 100; ++i) {
        client.origin().raise({{cell_of("alice"), 0, 1, Duration(60'000)}}, [&](auto answer) {
            ++answers;
            nothing += answer.front() ? 0 : 1;
        });
    }
    client.run_for(50ms);
    server.kill();
    EXPECT_TRUE(client.run_until([&] { return answers == 100; }));
    EXPECT_EQ(nothing, 100);
}

}  // namespace
}  // namespace sluice::redis_test
