// The origin in Redis against a cluster: keys spread, slots that move, masters that fail.
#include "redis/redis_cluster.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "redis/origin_client.h"
#include "regional/redis/cell_key.h"
#include "regional/redis/cluster_slot.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

int slot_of(const CellName& cell) {
    return cluster_slot(cell_key("here", cell));
}

// A cell whose slot was given to this master at the start.
CellName cell_at(const RedisCluster& cluster, std::size_t master) {
    for (int i = 0;; ++i)
        if (CellName cell = cell_of("cell" + std::to_string(i));
            cluster.first_owner(slot_of(cell)) == master)
            return cell;
}

bool is_at(RedisServer& server, const CellName& cell) {
    const Reply keys =
        server.command({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot_of(cell))});
    return keys.number > 0;
}

// Until all masters are connected.
void settle(OriginClient& client, RedisCluster& cluster, std::size_t masters) {
    ASSERT_TRUE(client.becomes_back()) << (client.whys.empty() ? "" : client.whys.back());
    for (std::size_t i = 0; i < masters; ++i) {
        const CellName cell = cell_at(cluster, i);
        ASSERT_TRUE(client.run_until([&] { return client.read(cell).has_value(); })) << i;
    }
}

TEST(RedisClusterOrigin, SpreadsCellsOverTheMasters) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(1).url());
    settle(client, cluster, 3);
    std::vector<CellComponent> components;
    for (Count i = 0; i < 100; ++i)
        components.push_back({cell_of(std::to_string(i)), 0, i + 1, Duration(60'000)});
    const auto answers = client.raise(components);
    for (Count i = 0; i < 100; ++i) {
        ASSERT_TRUE(answers[i].has_value());
        EXPECT_EQ(answers[i]->total, i + 1);
    }
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_GT(cluster.node(i).command({"DBSIZE"}).number, 10);
    const auto listing = client.list({cell_of("7")}).front();
    ASSERT_TRUE(listing.has_value());
    EXPECT_EQ(listing->total, 8U);
    EXPECT_EQ(client.backs, std::vector<bool>{true});
    EXPECT_EQ(client.forgot, 0);
}

TEST(RedisClusterOrigin, FollowsASlotThatMoves) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    const CellName held = cell_at(cluster, 0);
    const int slot = slot_of(held);
    client.raise(held, 3);

    // Another cell of the same slot, which is not held yet: its master says ASK.
    CellName fresh = held;
    for (int i = 0; fresh == held || slot_of(fresh) != slot; ++i)
        fresh = cell_of("fresh" + std::to_string(i));
    cluster.begin_move(slot, 0, 1);
    EXPECT_EQ(client.raise(held, 4)->total, 4U);
    const auto asked = client.raise(fresh, 5);
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->total, 5U);
    EXPECT_TRUE(is_at(cluster.node(1), fresh));

    cluster.move_keys(slot, 0, 1);
    EXPECT_EQ(client.read(held)->total, 4U);
    cluster.end_move(slot, 0, 1);
    EXPECT_EQ(client.raise(held, 6)->total, 6U);
    EXPECT_EQ(client.read(fresh)->total, 5U);
    client.run_for(1500ms);
    EXPECT_EQ(client.read(held)->total, 6U);
    EXPECT_FALSE(is_at(cluster.node(0), held));
    EXPECT_EQ(client.forgot, 0);
    EXPECT_TRUE(client.whys.empty());
}

TEST(RedisClusterOrigin, OneMasterThatStandsStillLeavesTheOthers) {
    RedisCluster cluster(
        {.masters = 3},
        {.flags = {"--cluster-require-full-coverage", "no", "--cluster-node-timeout", "5000"}});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    cluster.node(2).pause();
    const std::vector<CellName> cells = {
        cell_at(cluster, 0), cell_at(cluster, 1), cell_at(cluster, 2)};
    for (int i = 0; i < 3; ++i) {
        const auto answers = client.read(cells);
        EXPECT_TRUE(answers[0].has_value());
        EXPECT_TRUE(answers[1].has_value());
        EXPECT_FALSE(answers[2].has_value());
    }
    EXPECT_TRUE(client.is_back);
    EXPECT_TRUE(client.whys.empty());
    cluster.node(2).resume();
    EXPECT_TRUE(client.run_until([&] { return client.read(cells[2]).has_value(); }));
    EXPECT_EQ(client.forgot, 0);
}

TEST(RedisClusterOrigin, GoesOnWithTheReplicaOfAMasterThatFailed) {
    RedisCluster cluster({.masters = 3, .replicas = 1});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    const CellName cell = cell_at(cluster, 0);
    client.raise(cell, 3);
    cluster.node(0).kill();
    EXPECT_TRUE(client.run_until([&] {
        const auto answer = client.raise(cell, 4);
        return answer.has_value();
    }));
    EXPECT_EQ(client.read(cell)->total, 4U);
    EXPECT_TRUE(client.run_until([&] { return client.forgot > 0; }));
    EXPECT_TRUE(client.whys.empty());
    EXPECT_EQ(client.backs.size(), 1U);
}

TEST(RedisClusterOrigin, AMasterThatIsEmptiedHasForgotten) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    client.run_for(2500ms);
    EXPECT_EQ(client.forgot, 0);
    for (int i = 0; i < 3; ++i) {
        cluster.node(static_cast<std::size_t>(i)).command({"FLUSHALL"});
        EXPECT_TRUE(client.run_until([&] { return client.forgot == i + 1; }));
    }
}

TEST(RedisClusterOrigin, IsAwayWhenAllMastersAre) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    for (std::size_t i = 0; i < 3; ++i)
        cluster.node(i).kill();
    ASSERT_TRUE(client.becomes_away());
    EXPECT_FALSE(client.read(cell_at(cluster, 1)).has_value());
    for (std::size_t i = 0; i < 3; ++i)
        cluster.node(i).start();
    ASSERT_TRUE(client.becomes_back());
    ASSERT_EQ(client.backs.size(), 2U);
    EXPECT_FALSE(client.backs[1]);
    for (std::size_t i = 0; i < 3; ++i) {
        const CellName cell = cell_at(cluster, i);
        EXPECT_TRUE(client.run_until([&] { return client.raise(cell, 1).has_value(); }));
    }
}

TEST(RedisClusterOrigin, LogsInToEveryServer) {
    RedisCluster cluster({.masters = 2}, {.password = "secret"});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 2);
    OriginClient stranger("redis://:wrong@127.0.0.1:" + std::to_string(cluster.node(0).port()));
    ASSERT_TRUE(stranger.becomes_away());
    EXPECT_NE(stranger.whys[0].find("WRONGPASS"), std::string::npos) << stranger.whys[0];
}

TEST(RedisClusterOrigin, IsFoundFromAUnixSocketAndWithoutInfo) {
    RedisCluster cluster({.masters = 2}, {.acl = "alice on >secret ~sluice* +@all -info"});
    OriginClient client("redis+socket://alice:secret@" + cluster.node(1).socket_path());
    settle(client, cluster, 2);
}

TEST(RedisClusterOrigin, HasNoOtherDatabases) {
    RedisCluster cluster({.masters = 1});
    OriginClient client(cluster.node(0).url() + "/3");
    ASSERT_TRUE(client.becomes_away());
    EXPECT_NE(client.whys[0].find("only database 0"), std::string::npos) << client.whys[0];
}

TEST(RedisClusterOrigin, SaysThatSlotsAreNotAssigned) {
    RedisServer server({.cluster = true});
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_away());
    EXPECT_NE(client.whys[0].find("slots"), std::string::npos) << client.whys[0];
}

}  // namespace
}  // namespace sluice::redis_test
