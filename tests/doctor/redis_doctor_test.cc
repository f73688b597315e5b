// `sluice doctor` on a Redis, with each fault that it looks for.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/doctor_run.h"
#include "support/eventually.h"
#include "support/redis_cluster.h"
#include "support/redis_server.h"

namespace sluice::doctor_test {
namespace {

using redis_test::RedisServer;
using redis_test::Reply;
using namespace std::chrono_literals;

DoctorRun examine_redis(const std::string& url) {
    return examine({"--origin", url});
}

std::string info(RedisServer& redis, const std::string& name) {
    const std::string text = redis.command({"INFO"}).text;
    const std::size_t begin = text.find(name + ":") + name.size() + 1;
    return text.substr(begin, text.find('\r', begin) - begin);
}

TEST(RedisDoctor, FindsNothingWrongWithAGoodServer) {
    RedisServer redis({.password = "hush-hush", .flags = {"--maxmemory", "100mb"}});
    const DoctorRun run = examine({"--strict", "--origin", redis.url()});
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("ok", "redis", "it takes writes")) << run.out;
    EXPECT_TRUE(run.has("ok", "redis", "maxmemory-policy is noeviction")) << run.out;
    EXPECT_TRUE(run.has("ok", "redis", "its clock is ")) << run.out;
    EXPECT_EQ(run.out.find("hush-hush"), std::string::npos) << run.out;
    EXPECT_EQ(redis.command({"DBSIZE"}).number, 0) << "the scratch key is left";
}

TEST(RedisDoctor, WarnsWithoutALimitOfMemory) {
    RedisServer redis;
    const DoctorRun run = examine_redis(redis.url());
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(run.has("warning", "redis", "CONFIG SET maxmemory")) << run.out;
    EXPECT_EQ(examine({"--strict", "--origin", redis.url()}).exit_code, 1);
}

TEST(RedisDoctor, FindsAnEvictionPolicy) {
    RedisServer redis({.flags = {"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}});
    const DoctorRun run = examine_redis(redis.url());
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "redis", "maxmemory-policy is allkeys-lru")) << run.out;
    EXPECT_TRUE(run.has("fault", "redis", "CONFIG SET maxmemory-policy noeviction")) << run.out;
}

TEST(RedisDoctor, FindsAFullServer) {
    RedisServer redis({.flags = {"--maxmemory", "1"}});
    const DoctorRun run = examine_redis(redis.url());
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "redis", "it refuses a write: OOM")) << run.out;
    EXPECT_TRUE(run.has("warning", "redis", "% of maxmemory")) << run.out;
}

TEST(RedisDoctor, FindsAReplica) {
    RedisServer redis;
    redis.command({"REPLICAOF", "127.0.0.1", "1"});
    const DoctorRun run = examine_redis(redis.url());
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("fault", "redis", "name the master")) << run.out;
}

TEST(RedisDoctor, FindsAUserWithoutRights) {
    RedisServer redis({.acl = "alice on >secret ~other:* +@all"});
    const std::string host = "@127.0.0.1:" + std::to_string(redis.port());
    const DoctorRun keys = examine_redis("redis://alice:secret" + host);
    EXPECT_EQ(keys.exit_code, 2) << keys.out;
    EXPECT_TRUE(keys.has("fault", "redis", "ACL SETUSER USER ~sluice:2:*")) << keys.out;
    redis.command({"ACL", "SETUSER", "bob", "on", ">secret", "~*", "+@all", "-info", "-time"});
    const DoctorRun commands = examine_redis("redis://bob:secret" + host);
    EXPECT_EQ(commands.exit_code, 0) << commands.out;
    EXPECT_TRUE(commands.has("warning", "redis", "INFO is not allowed")) << commands.out;
    EXPECT_TRUE(commands.has("warning", "redis", "TIME is not allowed")) << commands.out;
    const DoctorRun login = examine_redis("redis://alice:wrong-word" + host);
    EXPECT_EQ(login.exit_code, 2) << login.out;
    EXPECT_TRUE(login.has("fault", "redis", "WRONGPASS")) << login.out;
    EXPECT_TRUE(login.has("fault", "redis", "set user and password")) << login.out;
    EXPECT_EQ(login.out.find("wrong-word"), std::string::npos) << login.out;
}

TEST(RedisDoctor, FindsThatSnapshotsFail) {
    RedisServer redis({.flags = {"--save", "3600 1"}});
    redis.block_snapshots();
    redis.command({"SET", "x", "1"});
    redis.command({"BGSAVE"});
    ASSERT_TRUE(
        regional_test::eventually([&] { return info(redis, "rdb_last_bgsave_status") == "err"; }));
    const DoctorRun run = examine_redis(redis.url());
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(run.has("warning", "redis", "the last snapshot failed")) << run.out;
    EXPECT_TRUE(run.has("fault", "redis", "it refuses a write: MISCONF")) << run.out;
    EXPECT_TRUE(run.has("fault", "redis", "stop-writes-on-bgsave-error")) << run.out;
}

TEST(RedisDoctor, ComparesClocks) {
    RedisServer redis({.flags = {"--maxmemory", "100mb"}});
    const DoctorRun far = examine({"--origin", redis.url()}, 100s);
    EXPECT_EQ(far.exit_code, 2) << far.out;
    EXPECT_TRUE(far.has("fault", "redis", " ms behind this machine's")) << far.out;
    EXPECT_TRUE(far.has("fault", "redis", "NTP")) << far.out;
    const DoctorRun near = examine({"--origin", redis.url()}, -5s);
    EXPECT_EQ(near.exit_code, 0) << near.out;
    EXPECT_TRUE(near.has("warning", "redis", " ms ahead of this machine's")) << near.out;
}

TEST(RedisDoctor, FindsAServerThatIsDownOrStuck) {
    RedisServer redis;
    redis.pause();
    const DoctorRun stuck = examine_redis(redis.url());
    EXPECT_EQ(stuck.exit_code, 2) << stuck.out;
    EXPECT_TRUE(stuck.has("fault", "redis", "can't be used")) << stuck.out;
    redis.resume();
    redis.kill();
    const DoctorRun down = examine_redis(redis.url());
    EXPECT_EQ(down.exit_code, 2) << down.out;
    EXPECT_TRUE(down.has("fault", "redis", "start Redis")) << down.out;
}

TEST(RedisDoctor, ChecksACluster) {
    redis_test::RedisCluster cluster({.masters = 3, .replicas = 0});
    const DoctorRun whole = examine_redis(cluster.node(0).url());
    EXPECT_EQ(whole.exit_code, 0) << whole.out;
    EXPECT_TRUE(whole.has("ok", "redis", "the Cluster has 3 masters")) << whole.out;
    EXPECT_TRUE(whole.has("ok", "redis", "it takes writes")) << whole.out;
    cluster.node(2).command({"CONFIG", "SET", "maxmemory", "100mb"});
    cluster.node(2).command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    const DoctorRun one = examine_redis(cluster.node(0).url());
    EXPECT_EQ(one.exit_code, 2) << one.out;
    const std::string third = "127.0.0.1:" + std::to_string(cluster.node(2).port());
    EXPECT_TRUE(one.has("fault", "redis", third + ": maxmemory-policy is allkeys-lru")) << one.out;
    const std::string first = "127.0.0.1:" + std::to_string(cluster.node(0).port());
    EXPECT_TRUE(one.has("ok", "redis", first + ": maxmemory-policy is noeviction")) << one.out;
    RedisServer alone({.cluster = true});
    const DoctorRun empty = examine_redis(alone.url());
    EXPECT_EQ(empty.exit_code, 2) << empty.out;
    EXPECT_TRUE(empty.has("fault", "redis", "the Cluster's state is fail")) << empty.out;
}

}  // namespace
}  // namespace sluice::doctor_test
