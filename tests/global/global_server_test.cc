// Servers of several regions share limits through a real MariaDB, and each region its own Redis.
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "global/regions.h"
#include "support/eventually.h"
#include "support/limit_client.h"
#include "support/mariadb_server.h"
#include "support/redis_server.h"
#include "support/server.h"

namespace sluice::global_test {
namespace {

using mariadb_test::MariadbServer;
using redis_test::RedisServer;
using regional_test::Ask;
using regional_test::eventually;
using server_test::Server;
using Rows = std::map<std::string, std::int64_t>;
using namespace std::chrono_literals;

class GlobalServer : public testing::Test {
  protected:
    static void SetUpTestSuite() { mariadb_ = std::make_unique<MariadbServer>(); }
    static void TearDownTestSuite() { mariadb_.reset(); }

    Server server(const std::string& region, const std::vector<std::string>& flags = {}) const {
        return Server(in_region(region, url(), flags));
    }
    std::string url() const { return mariadb_->url_text(database_); }
    Rows rows(const std::string& identifier) const {
        return rows_of(*mariadb_, database_, identifier);
    }

    static inline std::unique_ptr<MariadbServer> mariadb_;
    const std::string database_ = mariadb_->make_store().database;
};

TEST_F(GlobalServer, WhatOneRegionSpentTheOtherCanNotSpendAgain) {
    const Server a = server("a");
    const Server b = server("b");
    EXPECT_TRUE(passes(a, ask_for("alice", 6)));
    await_global(b, "alice", 6);
    EXPECT_TRUE(passes(b, ask_for("alice", 1)));
    EXPECT_FALSE(passes(b, ask_for("alice", 4)));
    // However little: b knows of a.
    EXPECT_TRUE(eventually([&] { return rows("alice") == Rows{{"a", 6}, {"b", 1}}; }));
    await_global(a, "alice", 1);
}

TEST_F(GlobalServer, TheNodesOfARegionMakeOneRow) {
    const RedisServer redis_a;
    const RedisServer redis_b;
    const Server a1 = server("a", {"--origin", redis_a.url()});
    const Server a2 = server("a", {"--origin", redis_a.url()});
    const Server b1 = server("b", {"--origin", redis_b.url()});
    const Server b2 = server("b", {"--origin", redis_b.url()});
    EXPECT_TRUE(passes(a1, ask_for("alice", 3)));
    EXPECT_TRUE(passes(a2, ask_for("alice", 3)));
    EXPECT_TRUE(eventually([&] { return rows("alice") == Rows{{"a", 6}}; }));
    await_global(b1, "alice", 6);
    await_global(b2, "alice", 6);
    EXPECT_TRUE(passes(b1, ask_for("alice", 2)));
    EXPECT_TRUE(passes(b2, ask_for("alice", 2)));
    EXPECT_FALSE(passes(b1, ask_for("alice", 1)));
}

TEST_F(GlobalServer, ForeignRegionsAreSummed) {
    const Server a = server("a");
    const Server b = server("b");
    const Server c = server("c");
    EXPECT_TRUE(passes(a, ask_for("alice", 12, 20)));
    EXPECT_TRUE(passes(b, ask_for("alice", 11, 20)));
    await_global(c, "alice", 23, 20);
    EXPECT_FALSE(passes(c, ask_for("alice", 1, 20)));
    await_global(a, "alice", 11, 20);
}

// A region that knows of no other, and counts two: from a quarter of the limit on.
TEST_F(GlobalServer, OnlyWhatIsWorthItIsPublished) {
    const Server a = server("a");
    EXPECT_TRUE(passes(a, ask_for("little", 24, 100)));
    EXPECT_FALSE(passes(a, ask_for("oversized", 101, 100)));
    EXPECT_TRUE(passes(a, ask_for("much", 25, 100)));
    EXPECT_TRUE(eventually([&] { return rows("much") == Rows{{"a", 25}}; }));
    await_imports(a);
    EXPECT_EQ(rows("little"), Rows{});
    EXPECT_EQ(rows("oversized"), Rows{});
    EXPECT_FALSE(passes(a, ask_for("much", 76, 100)));
    await_imports(a);
    EXPECT_EQ(rows("much"), (Rows{{"a", 25}}));
    EXPECT_TRUE(passes(a, ask_for("much", 1, 100)));
    EXPECT_TRUE(eventually([&] {
        return rows("much") == Rows{{"a", 26}};
    })) << "what is left of a published cell that has stopped growing";
}

TEST_F(GlobalServer, ThePreviousWindowOfOtherRegionsWeighsIn) {
    const Server a = server("a");
    const Server b = server("b");
    EXPECT_TRUE(passes(a, ask_for("alice", 10)));
    await_global(b, "alice", 10);
    Ask later = ask_for("alice", 5);
    later.at = kNow + 90'000;  // half of the window before still counts
    EXPECT_TRUE(passes(b, later));
    later.cost = 1;
    EXPECT_FALSE(passes(b, later));
}

TEST_F(GlobalServer, KeysThatDifferInCaseOrSpacesOrAreLongStayApart) {
    const Server a = server("a");
    const Server b = server("b");
    const std::string long_key(400, 'x');
    EXPECT_TRUE(passes(a, ask_for("User", 6)));
    EXPECT_TRUE(passes(a, ask_for("user", 7)));
    EXPECT_TRUE(passes(a, ask_for("user ", 8)));
    EXPECT_TRUE(passes(a, ask_for(long_key, 9)));
    await_global(b, "User", 6);
    await_global(b, "user", 7);
    await_global(b, "user ", 8);
    await_global(b, long_key, 9);
    EXPECT_FALSE(passes(b, ask_for(long_key, 2)));
    EXPECT_TRUE(passes(b, ask_for(long_key, 1)));
    EXPECT_TRUE(passes(b, ask_for(long_key + "y", 10)));
}

// Redis has forgotten, and so have all nodes: the region's own row is its only memory.
TEST_F(GlobalServer, ARegionThatLostItsMemoryIsRemindedByItsOwnRow) {
    RedisServer redis;
    auto node = std::make_unique<Server>(in_region("a", url(), {"--origin", redis.url()}));
    EXPECT_TRUE(passes(*node, ask_for("alice", 8)));
    EXPECT_TRUE(eventually([&] { return rows("alice") == Rows{{"a", 8}}; }));
    node->program().signal(SIGKILL);
    node->program().wait();
    redis.restart_empty();
    const Server reborn(in_region("a", url(), {"--origin", redis.url()}));
    peek(reborn, "alice");
    EXPECT_TRUE(eventually([&] { return known_by(reborn, "alice").peers == 8; }));
    EXPECT_EQ(known_by(reborn, "alice").global, 0);
    EXPECT_FALSE(passes(reborn, ask_for("alice", 3)));
    EXPECT_TRUE(passes(reborn, ask_for("alice", 2)));
    EXPECT_TRUE(eventually([&] { return rows("alice") == Rows{{"a", 10}}; }));
}

TEST_F(GlobalServer, WhatAStoppingServerSpentIsPublishedFirst) {
    auto node = std::make_unique<Server>(in_region("a", url(), {}, "30s"));
    EXPECT_TRUE(passes(*node, ask_for("alice", 8)));
    node->program().signal(SIGTERM);
    EXPECT_EQ(node->program().wait().exit_code, 0);
    EXPECT_EQ(rows("alice"), (Rows{{"a", 8}}));
}

TEST_F(GlobalServer, ReadsAReplicaIfThereIsOne) {
    // The same server, by another user that may only read.
    mariadb_->run("CREATE USER reader IDENTIFIED BY 'r'");
    mariadb_->run("GRANT SELECT ON " + database_ + ".* TO reader");
    const std::string replica =
        "mysql://reader:r@127.0.0.1:" + std::to_string(mariadb_->port()) + "/" + database_;
    const Server a = server("a", {"--global-replica", replica});
    const Server b = server("b", {"--global-replica", replica});
    EXPECT_TRUE(passes(a, ask_for("alice", 6)));
    await_global(b, "alice", 6);
    EXPECT_EQ(degraded(b), "[]");
}

}  // namespace
}  // namespace sluice::global_test
