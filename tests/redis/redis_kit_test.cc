// The kit itself: a server that can be killed, emptied and stopped, and a cluster.
#include <gtest/gtest.h>

#include "support/redis_cluster.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

TEST(RedisKit, AServerComesBackEmptyAfterACrash) {
    RedisServer server({.password = "secret"});
    EXPECT_EQ(server.command({"SET", "key", "value"}).text, "OK");
    server.restart_empty();
    EXPECT_EQ(server.command({"GET", "key"}).type, Reply::Type::kNothing);
}

TEST(RedisKit, APausedServerResumes) {
    RedisServer server;
    server.pause();
    server.resume();
    EXPECT_EQ(server.command({"PING"}).text, "PONG");
}

TEST(RedisKit, AClusterServesAllSlots) {
    RedisCluster cluster({.masters = 3, .replicas = 1});
    const std::string info = cluster.node(2).command({"CLUSTER", "INFO"}).text;
    EXPECT_NE(info.find("cluster_slots_ok:16384"), std::string::npos) << info;
    EXPECT_NE(info.find("cluster_size:3"), std::string::npos) << info;
}

}  // namespace
}  // namespace sluice::redis_test
