// Heartbeats against a real server: the count of nodes, data loss, the clock.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "regional/redis/redis_keys.h"
#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

class RedisHeartbeat : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(client.becomes_available());
        ASSERT_TRUE(peer.becomes_available());
    }

    RedisServer server;
    OriginClient client{server.url()};
    OriginClient peer{server.url(), {.node = "peer"}};
};

void expect_heartbeat(const HeartbeatAnswer& answer, std::uint32_t nodes, bool has_joined) {
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->nodes, nodes);
    EXPECT_EQ(answer->has_joined, has_joined);
}

TEST_F(RedisHeartbeat, CountsNodesAsTheyJoinDieAndReturn) {
    expect_heartbeat(client.heartbeat(), 1, true);
    expect_heartbeat(client.heartbeat(), 1, false);
    expect_heartbeat(peer.heartbeat(), 2, true);
    expect_heartbeat(client.heartbeat(), 2, false);
    for (int i = 0; i < 4; ++i) {
        client.run_for(1s);
        expect_heartbeat(client.heartbeat(), 2, false);
    }
    client.run_for(1200ms);
    expect_heartbeat(client.heartbeat(), 1, false);
    expect_heartbeat(peer.heartbeat(), 2, true);
    expect_heartbeat(peer.heartbeat(), 2, false);
}

// The reply to the first heartbeat was lost: it did join, and does not know.
TEST_F(RedisHeartbeat, JoinsWithTheFirstAnswerEvenIfItIsInTheSet) {
    const Reply time = server.command({"TIME"});
    server.command({"ZADD", node_set_key(kRegion), time.list[0].text + "000", "peer"});
    expect_heartbeat(peer.heartbeat(), 1, true);
    expect_heartbeat(peer.heartbeat(), 1, false);
}

TEST_F(RedisHeartbeat, JoinsAgainAfterTheNodesWereLost) {
    client.heartbeat();
    server.command({"FLUSHALL"});
    expect_heartbeat(client.heartbeat(), 1, true);
}

TEST_F(RedisHeartbeat, DropsNodesFromTheFuture) {
    server.command({"ZADD", node_set_key(kRegion), "99999999999999", "ghost"});
    expect_heartbeat(client.heartbeat(), 1, true);
}

TEST_F(RedisHeartbeat, TheSetExpiresOnceAllNodesAreGone) {
    client.heartbeat();
    const std::int64_t left = server.command({"PTTL", node_set_key(kRegion)}).number;
    EXPECT_GT(left, 3'000);
    EXPECT_LE(left, 5'000);
}

TEST_F(RedisHeartbeat, MeasuresTheOffsetOfTheClock) {
    const auto heartbeat = client.heartbeat();
    ASSERT_TRUE(heartbeat.has_value());
    EXPECT_LT(std::abs(heartbeat->clock_offset.count()), 500);
}

TEST_F(RedisHeartbeat, NoticesThatTheServerWasEmptied) {
    client.heartbeat();
    EXPECT_EQ(client.losses, 0);
    server.command({"FLUSHALL"});
    server.command({"SCRIPT", "FLUSH"});
    client.heartbeat();
    EXPECT_EQ(client.losses, 1);
    client.heartbeat();
    EXPECT_EQ(client.losses, 1);
    EXPECT_EQ(client.intact.size(), 1U);
    EXPECT_TRUE(client.failures.empty());
}

// Whatever replaced the marker did so in a heartbeat whose reply was lost.
TEST_F(RedisHeartbeat, NoticesAMarkerThatWasReplaced) {
    client.heartbeat();
    const std::string marker = marker_key(kRegion, client.origin().node(), 0);
    ASSERT_EQ(server.command({"EXISTS", marker}).number, 1);
    server.command({"HSET", marker, "value", "another"});
    client.heartbeat();
    EXPECT_EQ(client.losses, 1);
}

}  // namespace
}  // namespace sluice::redis_test
