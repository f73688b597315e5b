// The origin in Redis against a Cluster: keys that are spread, slots that move, masters that fail.
#include "support/redis_cluster.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "regional/redis/redis_keys.h"
#include "support/origin_client.h"
#include "support/server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

int slot_of(const CellName& cell) {
    return cluster_slot(cell_key(kRegion, cell));
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
    ASSERT_TRUE(client.becomes_available())
        << (client.failures.empty() ? "" : client.failures.back());
    for (std::size_t i = 0; i < masters; ++i) {
        const CellName cell = cell_at(cluster, i);
        ASSERT_TRUE(client.run_until([&] { return client.read(cell).has_value(); })) << i;
    }
}

TEST(RedisClusterOrigin, SpreadsKeysOverTheMasters) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(1).url());
    settle(client, cluster, 3);
    std::vector<KeyComponents> keys;
    std::vector<KeySpend> spends;
    for (Count i = 0; i < 100; ++i) {
        keys.push_back(components_of(cell_of(std::to_string(i)), i + 1, 7));
        spends.push_back(
            {.components = keys.back(), .requests = {{Duration(0), {.cost = 1, .limit = 1'000}}}});
    }
    const auto answers = client.sync(keys);
    const auto grants = client.spend(spends);
    for (Count i = 0; i < 100; ++i) {
        ASSERT_TRUE(answers[i] && grants[i]);
        EXPECT_EQ((*answers[i])[0].total, i + 1);
        EXPECT_EQ((*answers[i])[1].total, 7U);
        EXPECT_TRUE(grants[i]->granted[0]);
        EXPECT_EQ(grants[i]->totals[0].total, i + 2);
    }
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_GT(cluster.node(i).command({"DBSIZE"}).number, 20);
    const auto listing = client.list({cell_of("7")}).front();
    ASSERT_TRUE(listing.has_value());
    EXPECT_EQ(listing->total, 9U);
    EXPECT_EQ(client.intact, std::vector<bool>{true});
    EXPECT_EQ(client.losses, 0);
}

TEST(RedisClusterOrigin, SyncsKeysOfOneSlotTogether) {
    RedisCluster cluster({.masters = 1});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 1);
    // Four windows of one identifier have different keys; ten of one window are in one slot.
    std::vector<KeyComponents> keys;
    for (int i = 0; i < 10; ++i) {
        keys.push_back(components_of(cell_of("alice"), 1));
        keys.back().current.sequence += 2 * i;
    }
    keys.push_back(components_of(cell_of("bob"), 1));
    cluster.node(0).command({"CONFIG", "RESETSTAT"});
    for (const KeyAnswer& answer : client.sync(keys))
        EXPECT_TRUE(answer.has_value());
    const std::string stats = cluster.node(0).command({"INFO", "commandstats"}).text;
    EXPECT_NE(stats.find("cmdstat_evalsha:calls=2,"), std::string::npos) << stats;
}

// While the slot of a key is being moved, a script that needs two of its keys can't run anywhere.
TEST(RedisClusterOrigin, FollowsASlotThatMoves) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url(), {.timeout = 500ms});
    settle(client, cluster, 3);
    const CellName cell = cell_at(cluster, 0);
    const int slot = slot_of(cell);
    client.sync(cell, 3);

    cluster.begin_move(slot, 0, 1);
    EXPECT_FALSE(client.sync(cell, 4).has_value());
    cluster.move_keys(slot, 0, 1);
    EXPECT_FALSE(client.sync(cell, 4).has_value());
    cluster.end_move(slot, 0, 1);
    EXPECT_EQ((*client.sync(cell, 6))[0].total, 6U);
    EXPECT_TRUE(client.heartbeat().has_value());
    client.run_for(1500ms);
    EXPECT_EQ(client.read(cell)->total, 6U);
    EXPECT_TRUE(is_at(cluster.node(1), cell));
    EXPECT_FALSE(is_at(cluster.node(0), cell));
    EXPECT_TRUE(client.heartbeat().has_value());
    EXPECT_EQ(client.losses, 0);
    EXPECT_TRUE(client.failures.empty());
    EXPECT_TRUE(client.refusals.empty());
}

TEST(RedisClusterOrigin, FinishesACallWhenTheMoveOfItsSlotEnds) {
    RedisCluster cluster({.masters = 2});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 2);
    const CellName cell = cell_at(cluster, 0);
    client.sync(cell, 3);
    cluster.begin_move(slot_of(cell), 0, 1);
    std::optional<KeyAnswer> answer;
    client.origin().sync({components_of(cell, 4)},
                         [&](const auto& answers) { answer = answers.front(); });
    client.run_for(100ms);
    EXPECT_FALSE(answer.has_value());
    cluster.move_keys(slot_of(cell), 0, 1);
    cluster.end_move(slot_of(cell), 0, 1);
    ASSERT_TRUE(client.run_until([&] { return answer.has_value(); }));
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ((**answer)[0].total, 4U);
}

TEST(RedisClusterOrigin, CountsNodesAndWritesToEveryMaster) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    OriginClient peer(cluster.node(1).url(), {.node = "peer"});
    settle(client, cluster, 3);
    settle(peer, cluster, 3);
    EXPECT_EQ(client.heartbeat()->nodes, 1U);
    const auto joined = peer.heartbeat();
    ASSERT_TRUE(joined.has_value());
    EXPECT_EQ(joined->nodes, 2U);
    EXPECT_TRUE(joined->has_joined);
    EXPECT_EQ(client.heartbeat()->nodes, 2U);
    for (std::size_t i = 0; i < 3; ++i) {
        int markers = 0;
        for (const Reply& key : cluster.node(i).command({"KEYS", "*:marker"}).list)
            markers += key.text.find("peer") != std::string::npos ? 1 : 0;
        EXPECT_EQ(markers, 1) << i;
    }
}

TEST(RedisClusterOrigin, OneMasterThatRefusesWritesMakesHeartbeatsFail) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    for (std::size_t i = 0; i < 3; ++i) {
        client.refusals.clear();
        ASSERT_TRUE(client.heartbeat().has_value());
        cluster.node(i).command({"CONFIG", "SET", "maxmemory", "1"});
        EXPECT_FALSE(client.heartbeat().has_value());
        EXPECT_FALSE(client.heartbeat().has_value());
        ASSERT_EQ(client.refusals.size(), 1U);
        EXPECT_NE(client.refusals[0].find("OOM"), std::string::npos) << client.refusals[0];
        const CellName elsewhere = cell_at(cluster, (i + 1) % 3);
        EXPECT_TRUE(client.sync(elsewhere, i + 1).has_value());
        cluster.node(i).command({"CONFIG", "SET", "maxmemory", "0"});
        EXPECT_TRUE(client.becomes_accepted());
    }
}

TEST(RedisClusterOrigin, OneStalledMasterAffectsOnlyItsKeys) {
    RedisCluster cluster(
        {.masters = 3},
        {.flags = {"--cluster-require-full-coverage", "no", "--cluster-node-timeout", "5000"}});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    cluster.node(2).pause();
    const std::vector<CellName> cells = {
        cell_at(cluster, 0), cell_at(cluster, 1), cell_at(cluster, 2)};
    for (int i = 0; i < 3; ++i) {
        const auto answers = client.sync(
            {components_of(cells[0], 0), components_of(cells[1], 0), components_of(cells[2], 0)});
        EXPECT_TRUE(answers[0].has_value());
        EXPECT_TRUE(answers[1].has_value());
        EXPECT_FALSE(answers[2].has_value());
    }
    EXPECT_TRUE(client.is_available);
    EXPECT_TRUE(client.failures.empty());
    cluster.node(2).resume();
    EXPECT_TRUE(client.run_until([&] { return client.read(cells[2]).has_value(); }));
    EXPECT_EQ(client.losses, 0);
}

TEST(RedisClusterOrigin, UsesTheReplicaOfAMasterThatFailed) {
    RedisCluster cluster({.masters = 3, .replicas = 1});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    const CellName cell = cell_at(cluster, 0);
    client.sync(cell, 3);
    cluster.node(0).kill();
    EXPECT_TRUE(client.run_until([&] { return client.sync(cell, 4).has_value(); }));
    EXPECT_EQ(client.read(cell)->total, 4U);
    EXPECT_TRUE(client.run_until([&] { return client.losses > 0; }));
    EXPECT_TRUE(client.failures.empty());
    EXPECT_EQ(client.intact.size(), 1U);
}

TEST(RedisClusterOrigin, NoticesThatAMasterWasEmptied) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    client.heartbeat();
    client.heartbeat();
    EXPECT_EQ(client.losses, 0);
    for (int i = 0; i < 3; ++i) {
        cluster.node(static_cast<std::size_t>(i)).command({"FLUSHALL"});
        client.heartbeat();
        EXPECT_EQ(client.losses, i + 1);
    }
}

TEST(RedisClusterOrigin, IsUnavailableIfAllMastersAre) {
    RedisCluster cluster({.masters = 3});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 3);
    for (std::size_t i = 0; i < 3; ++i)
        cluster.node(i).kill();
    ASSERT_TRUE(client.becomes_unavailable());
    EXPECT_FALSE(client.read(cell_at(cluster, 1)).has_value());
    for (std::size_t i = 0; i < 3; ++i)
        cluster.node(i).start();
    ASSERT_TRUE(client.becomes_available());
    ASSERT_EQ(client.intact.size(), 2U);
    EXPECT_FALSE(client.intact[1]);
    for (std::size_t i = 0; i < 3; ++i) {
        const CellName cell = cell_at(cluster, i);
        EXPECT_TRUE(client.run_until([&] { return client.sync(cell, 1).has_value(); }));
    }
}

TEST(RedisClusterOrigin, LogsInToEveryServer) {
    RedisCluster cluster({.masters = 2}, {.password = "secret"});
    OriginClient client(cluster.node(0).url());
    settle(client, cluster, 2);
    OriginClient stranger("redis://:wrong@127.0.0.1:" + std::to_string(cluster.node(0).port()));
    ASSERT_TRUE(stranger.becomes_unavailable());
    EXPECT_NE(stranger.failures[0].find("WRONGPASS"), std::string::npos) << stranger.failures[0];
}

TEST(RedisClusterOrigin, IsFoundFromAUnixSocketAndWithoutInfo) {
    RedisCluster cluster({.masters = 2}, {.acl = "alice on >secret ~sluice:2:* +@all -info"});
    OriginClient client("redis+socket://alice:secret@" + cluster.node(1).socket_path());
    settle(client, cluster, 2);
}

TEST(RedisClusterOrigin, IsFoundFromAnyOfSeveralSeeds) {
    RedisCluster cluster({.masters = 2});
    const std::string dead = "127.0.0.1:" + std::to_string(server_test::free_port());
    const std::string members = "127.0.0.1:" + std::to_string(cluster.node(1).port()) +
                                ",127.0.0.1:" + std::to_string(cluster.node(0).port());
    OriginClient client("redis://" + dead + "," + members);
    settle(client, cluster, 2);
    EXPECT_TRUE(client.failures.empty());
    OriginClient other("redis://" + members + "," + dead);
    settle(other, cluster, 2);
}

TEST(RedisClusterOrigin, ReportsWhyNoSeedCanBeUsed) {
    RedisServer alone;
    const std::string dead = "127.0.0.1:" + std::to_string(server_test::free_port());
    const std::string single = "127.0.0.1:" + std::to_string(alone.port());
    OriginClient client("redis://" + dead + "," + single);
    ASSERT_TRUE(client.becomes_unavailable());
    const std::string& why = client.failures[0];
    EXPECT_NE(why.find(dead + ": connection refused"), std::string::npos) << why;
    EXPECT_NE(why.find(single + ": several servers are given"), std::string::npos) << why;
    client.run_for(1s);
    EXPECT_EQ(client.failures.size(), 1U);
    EXPECT_EQ(alone.command({"DBSIZE"}).number, 0);
}

TEST(RedisClusterOrigin, RejectsOtherDatabases) {
    RedisCluster cluster({.masters = 1});
    OriginClient client(cluster.node(0).url() + "/3");
    ASSERT_TRUE(client.becomes_unavailable());
    EXPECT_NE(client.failures[0].find("only database 0"), std::string::npos) << client.failures[0];
}

TEST(RedisClusterOrigin, ReportsUnassignedSlots) {
    RedisServer server({.cluster = true});
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_unavailable());
    EXPECT_NE(client.failures[0].find("slots"), std::string::npos) << client.failures[0];
}

}  // namespace
}  // namespace sluice::redis_test
