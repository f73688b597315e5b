// The origin in Redis against servers that answer but refuse writes.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "regional/redis/redis_keys.h"
#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

KeySpend spend_of(const CellName& cell) {
    return {.components = components_of(cell, 1),
            .requests = {{.elapsed = Duration(0), .ask = {.cost = 1, .limit = 100}}}};
}

// Every kind of call is answered without a value, and the reason is reported once for all of them.
void expect_all_refused(OriginClient& client, const std::string& word) {
    EXPECT_FALSE(client.heartbeat().has_value());
    EXPECT_FALSE(client.sync(cell_of("alice"), 5).has_value());
    EXPECT_FALSE(client.spend({spend_of(cell_of("bob"))}).front().has_value());
    EXPECT_FALSE(client.heartbeat().has_value());
    EXPECT_TRUE(client.is_available);
    EXPECT_TRUE(client.failures.empty());
    ASSERT_EQ(client.refusals.size(), 1U);
    EXPECT_NE(client.refusals[0].find("Redis says: " + word), std::string::npos)
        << client.refusals[0];
    EXPECT_EQ(client.refusals[0].find("secret"), std::string::npos) << client.refusals[0];
}

// Writes work again, and another refusal would be reported again.
void expect_recovered(OriginClient& client) {
    ASSERT_TRUE(client.becomes_accepted());
    const auto synced = client.sync(cell_of("alice"), 5);
    ASSERT_TRUE(synced.has_value());
    EXPECT_EQ((*synced)[0].total, 5U);
}

TEST(RedisRefusal, OutOfMemory) {
    RedisServer server({.password = "secret"});
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.heartbeat().has_value());
    client.sync(cell_of("alice"), 1);
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    expect_all_refused(client, "OOM");
    EXPECT_EQ(client.read(cell_of("alice"))->total, 1U) << "reads still work";
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    expect_recovered(client);
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    EXPECT_FALSE(client.sync(cell_of("alice"), 6).has_value());
    EXPECT_EQ(client.refusals.size(), 2U);
}

TEST(RedisRefusal, OutOfMemoryFromTheStart) {
    RedisServer server({.flags = {"--maxmemory", "1"}});
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.run_until([&] { return !client.refusals.empty(); }));
    expect_all_refused(client, "OOM");
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    expect_recovered(client);
    EXPECT_EQ(client.losses, 0);
}

TEST(RedisRefusal, SnapshotsThatFail) {
    RedisServer server({.flags = {"--save", "3600 1000000"}});
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    // A folder in the place of the file: root could write into any other.
    ASSERT_TRUE(client.heartbeat().has_value());
    server.block_snapshots();
    server.command({"BGSAVE"});
    ASSERT_TRUE(client.becomes_refused());
    expect_all_refused(client, "MISCONF");
    server.command({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
    expect_recovered(client);
}

TEST(RedisRefusal, AServerThatBecomesAReplica) {
    RedisServer primary;
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.heartbeat().has_value());
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    expect_all_refused(client, "READONLY");
    // It is connected to anew every two seconds, in case that its name leads elsewhere by now.
    EXPECT_TRUE(client.heartbeat_until([&] {
        return server.command({"INFO", "stats"}).text.find("total_connections_received:2") ==
               std::string::npos;
    }));
    client.run_for(200ms);
    EXPECT_TRUE(client.is_available);
    EXPECT_TRUE(client.failures.empty());
    EXPECT_EQ(client.refusals.size(), 1U);
    server.command({"REPLICAOF", "NO", "ONE"});
    expect_recovered(client);
    EXPECT_TRUE(client.failures.empty());
}

TEST(RedisRefusal, AReplicaFromTheStart) {
    RedisServer primary;
    RedisServer server({.flags = {"--replicaof", "127.0.0.1 " + std::to_string(primary.port())}});
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.run_until([&] { return !client.refusals.empty(); }));
    expect_all_refused(client, "READONLY");
    server.command({"REPLICAOF", "NO", "ONE"});
    expect_recovered(client);
}

TEST(RedisRefusal, AUserThatMayNotWriteAnyMore) {
    RedisServer server({.acl = "alice on >secret ~sluice:* +@all"});
    OriginClient client("redis://alice:secret@127.0.0.1:" + std::to_string(server.port()));
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.heartbeat().has_value());
    server.command({"ACL", "SETUSER", "alice", "-@write"});
    EXPECT_FALSE(client.heartbeat().has_value());
    EXPECT_FALSE(client.sync(cell_of("alice"), 5).has_value());
    EXPECT_FALSE(client.spend({spend_of(cell_of("bob"))}).front().has_value());
    ASSERT_FALSE(client.refusals.empty());
    const std::size_t refusals = client.refusals.size();
    EXPECT_NE(client.refusals[0].find("can't run this command"), std::string::npos)
        << client.refusals[0];
    EXPECT_FALSE(client.heartbeat().has_value());
    EXPECT_EQ(client.refusals.size(), refusals);
    server.command({"ACL", "SETUSER", "alice", "+@all"});
    expect_recovered(client);
    EXPECT_TRUE(client.failures.empty());
}

TEST(RedisRefusal, AUserThatMayNotReadEither) {
    RedisServer server({.acl = "alice on >secret ~sluice:* +@all"});
    OriginClient client("redis://alice:secret@127.0.0.1:" + std::to_string(server.port()));
    ASSERT_TRUE(client.becomes_available());
    server.command({"ACL", "SETUSER", "alice", "resetkeys"});
    EXPECT_FALSE(client.sync(cell_of("alice"), 5).has_value());
    EXPECT_FALSE(client.heartbeat().has_value());
    EXPECT_FALSE(client.refusals.empty());
}

// What heartbeats write is of no value for long, so that a foreign value is replaced.
TEST(RedisRefusal, ForeignValuesUnderTheKeysOfHeartbeatsAreReplaced) {
    RedisServer server;
    OriginClient client(server.url());
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.heartbeat().has_value());
    const std::string marker = marker_key(kRegion, client.origin().node(), 0);
    for (const std::string& key : {marker, node_set_key(kRegion), notes_key(kRegion)}) {
        server.command({"DEL", key});
        server.command({"SET", key, "text"});
    }
    const auto heartbeat = client.heartbeat();
    ASSERT_TRUE(heartbeat.has_value());
    EXPECT_EQ(heartbeat->nodes, 1U);
    EXPECT_TRUE(client.leave_note("here").has_value());
    EXPECT_EQ(client.losses, 1) << "the marker was overwritten";
    EXPECT_TRUE(client.refusals.empty());
    EXPECT_TRUE(client.is_available);
}

}  // namespace
}  // namespace sluice::redis_test
