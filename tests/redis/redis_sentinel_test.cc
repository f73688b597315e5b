// The origin in Redis behind Sentinels: finding the master, failover, and what is reported.
#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "regional/redis/redis_keys.h"
#include "support/canned_server.h"
#include "support/origin_client.h"
#include "support/process.h"
#include "support/redis_server.h"
#include "support/server.h"

namespace sluice::redis_test {
namespace {

using namespace std::chrono_literals;

std::string at(std::uint16_t port) {
    return "127.0.0.1:" + std::to_string(port);
}

// A Sentinel that watches a master on `port` under the name "main" and can fail it over alone.
RedisServerOptions watching(std::uint16_t port, const std::string& password = {}) {
    std::string lines = "sentinel monitor main 127.0.0.1 " + std::to_string(port) + " 1\n" +
                        "sentinel down-after-milliseconds main 500\n" +
                        "sentinel failover-timeout main 3000\n";
    if (!password.empty()) lines += "sentinel auth-pass main " + password + "\n";
    return {.sentinel = lines};
}

bool knows_a_replica(RedisServer& sentinel) {
    const Reply replicas = sentinel.command({"SENTINEL", "REPLICAS", "main"});
    if (replicas.list.empty()) return false;
    const auto& fields = replicas.list[0].list;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
        if (fields[i].text == "master-link-status") return fields[i + 1].text == "ok";
    return false;
}

bool is_master(RedisServer& server) {
    server.disconnect();
    return server.command({"ROLE"}).list[0].text == "master";
}

void expect_unavailable(const std::string& url, const std::string& part) {
    OriginClient client(url);
    ASSERT_TRUE(client.becomes_unavailable());
    EXPECT_NE(client.failures[0].find(part), std::string::npos) << client.failures[0];
    client.run_for(500ms);
    EXPECT_FALSE(client.is_available);
    EXPECT_EQ(client.failures.size(), 1U);
}

TEST(RedisSentinel, NamesTheMaster) {
    RedisServer master;
    RedisServer sentinel(watching(master.port()));
    OriginClient client("redis+sentinel://" + at(server_test::free_port()) + "," +
                        at(sentinel.port()) + "/main/3");
    ASSERT_TRUE(client.becomes_available());
    EXPECT_TRUE(client.sync(cell_of("alice"), 1).has_value());
    EXPECT_TRUE(client.heartbeat().has_value());
    EXPECT_TRUE(client.failures.empty());
    EXPECT_EQ(master.command({"DBSIZE"}).number, 0);
    master.command({"SELECT", "3"});
    EXPECT_EQ(master.command({"DBSIZE"}).number, 3);
}

TEST(RedisSentinel, FollowsAFailoverToTheNewMaster) {
    RedisServer master;
    RedisServer replica;
    replica.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    RedisServer sentinel(watching(master.port()));
    OriginClient client("redis+sentinel://" + at(sentinel.port()) + "/main");
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.sync(cell_of("alice"), 3).has_value());
    ASSERT_TRUE(client.run_until([&] {
        client.run_for(100ms);
        return knows_a_replica(sentinel);
    }));

    master.kill();
    ASSERT_TRUE(client.becomes_unavailable());
    ASSERT_TRUE(client.becomes_available()) << client.failures.back();
    EXPECT_EQ(client.intact, (std::vector<bool>{true, false})) << "data may be lost";
    EXPECT_TRUE(client.becomes_accepted());
    const auto synced = client.sync(cell_of("alice"), 4);
    ASSERT_TRUE(synced.has_value());
    EXPECT_EQ((*synced)[0].total, 4U);
    EXPECT_TRUE(is_master(replica));
    EXPECT_GT(replica.command({"DBSIZE"}).number, 0);
}

TEST(RedisSentinel, FollowsAPlannedFailoverToTheNewMaster) {
    RedisServer master;
    RedisServer replica;
    replica.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    RedisServer sentinel(watching(master.port()));
    OriginClient client("redis+sentinel://" + at(sentinel.port()) + "/main");
    ASSERT_TRUE(client.becomes_available());
    ASSERT_TRUE(client.run_until([&] {
        client.run_for(100ms);
        return knows_a_replica(sentinel);
    }));
    // The former master stays writable for some ten seconds. It is left before.
    ASSERT_EQ(sentinel.command({"SENTINEL", "FAILOVER", "main"}).text, "OK");
    ASSERT_TRUE(client.heartbeat_until([&] { return client.losses > 0; }));
    EXPECT_TRUE(client.failures.empty()) << client.failures[0];
    EXPECT_TRUE(is_master(replica));
    EXPECT_EQ((*client.sync(cell_of("alice"), 4))[0].total, 4U);
    EXPECT_EQ(replica.command({"EXISTS", cell_key(kRegion, cell_of("alice"))}).number, 1);
}

std::int64_t stat(RedisServer& server, const std::string& name) {
    const std::string stats = server.command({"INFO", "stats"}).text;
    return std::stoll(stats.substr(stats.find(name + ":") + name.size() + 1));
}

// The Sentinels are asked with each heartbeat.
TEST(RedisSentinel, KeepsOneConnectionToASentinel) {
    RedisServer master;
    RedisServer sentinel(watching(master.port()));
    OriginClient client("redis+sentinel://" + at(sentinel.port()) + "/main");
    ASSERT_TRUE(client.becomes_available());
    const std::int64_t before = stat(sentinel, "total_connections_received");
    // Commands of others than this test.
    std::int64_t own = 0;
    const auto commands = [&] { return stat(sentinel, "total_commands_processed") - own++; };
    const std::int64_t commands_before = commands();
    ASSERT_TRUE(client.heartbeat_until([&] { return commands() >= commands_before + 20; }));
    EXPECT_LE(stat(sentinel, "total_connections_received"), before + 1);
    sentinel.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ++own;
    const std::int64_t killed_at = commands();
    EXPECT_TRUE(client.heartbeat_until([&] { return commands() >= killed_at + 5; }));
    EXPECT_TRUE(client.failures.empty()) << client.failures[0];
}

TEST(RedisSentinel, WorksWithoutALogin) {
    RedisServer master({.password = "secret"});
    RedisServer sentinel(watching(master.port(), "secret"));
    OriginClient client("redis+sentinel://:secret@" + at(sentinel.port()) + "/main");
    ASSERT_TRUE(client.becomes_available());
    EXPECT_TRUE(client.sync(cell_of("alice"), 1).has_value());
    expect_unavailable("redis+sentinel://:wrong@" + at(sentinel.port()) + "/main", "WRONGPASS");
}

TEST(RedisSentinel, MayRequireTheLoginOfTheMaster) {
    RedisServer master({.password = "secret"});
    RedisServerOptions options = watching(master.port(), "secret");
    options.password = "secret";
    RedisServer sentinel(options);
    OriginClient client("redis+sentinel://:secret@" + at(sentinel.port()) + "/main");
    ASSERT_TRUE(client.becomes_available());
    EXPECT_TRUE(client.sync(cell_of("alice"), 1).has_value());
    expect_unavailable("redis+sentinel://" + at(sentinel.port()) + "/main", "NOAUTH");
}

TEST(RedisSentinel, ReportsWhyNoMasterIsFound) {
    RedisServer master;
    RedisServer sentinel(watching(master.port()));
    const std::string dead = at(server_test::free_port());
    expect_unavailable("redis+sentinel://" + dead + "," + at(sentinel.port()) + "/other",
                       "Sentinel " + dead + ": connection refused; Sentinel " +
                           at(sentinel.port()) + ": it knows no master of that name");
    expect_unavailable("redis+sentinel://" + at(master.port()) + "/main", "unknown command");
    const CannedServer server("$5\r\nhello\r\n");
    expect_unavailable("redis+sentinel://" + server.address() + "/main", "does not match");
}

TEST(RedisSentinel, AReplicaThatItNamesAsMasterIsRejected) {
    RedisServer master;
    RedisServer replica({.flags = {"--replicaof", "127.0.0.1 " + std::to_string(master.port())}});
    const std::string port = std::to_string(replica.port());
    const CannedServer sentinel("*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) +
                                "\r\n" + port + "\r\n");
    expect_unavailable("redis+sentinel://" + sentinel.address() + "/main",
                       at(replica.port()) + ": the Sentinels name it as the master");
}

TEST(RedisSentinel, WorksOverTls) {
    RedisServer master({.tls = true});
    RedisServerOptions options = watching(master.tls_port());
    options.tls = true;
    options.flags = {"--tls-ca-cert-file", master.certificate().cert, "--tls-replication", "yes"};
    RedisServer sentinel(options);
    const server_test::ScratchFolder scratch;
    const std::string both = scratch.write("both.pem",
                                           server_test::read_file(master.certificate().cert) +
                                               server_test::read_file(sentinel.certificate().cert));
    OriginClient client("rediss+sentinel://" + at(sentinel.tls_port()) + "/main",
                        {.tls = {.ca = both}});
    ASSERT_TRUE(client.becomes_available()) << client.failures.back();
    EXPECT_TRUE(client.sync(cell_of("alice"), 1).has_value());
}

}  // namespace
}  // namespace sluice::redis_test
