// A region on a Redis Cluster, one master of which is lost.
#include <sluice/limiter.h>

#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/nodes.h"
#include "support/redis_cluster.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisCluster;
using Clock = std::chrono::steady_clock;
using Totals = std::map<std::string, std::int64_t>;

constexpr UnixTime kNow{1'699'999'860'000ms};

// Of those servers that are masters.
Totals totals_of(RedisCluster& cluster, const std::vector<std::size_t>& masters) {
    Totals all;
    for (const std::size_t master : masters)
        for (const auto& [identifier, total] : totals_by_identifier(cluster.node(master)))
            all[identifier] = all.contains(identifier) ? -2 : total;  // one cell, one server
    return all;
}

class ClusterRegion : public testing::Test {
  protected:
    // Requests for many keys at both nodes; each is answered in time.
    void spend(int requests) {
        for (int i = 0; i < requests; ++i) {
            const std::string identifier = "k" + std::to_string(random_() % 30);
            const auto begin = Clock::now();
            const auto decision = nodes_[random_() % 2].limit({.name_space = "cluster",
                                                               .identifier = identifier,
                                                               .limit = 1'000'000,
                                                               .duration = 10min},
                                                              kNow);
            longest_ = std::max(longest_, Clock::now() - begin);
            ASSERT_TRUE(decision.has_value());
            ASSERT_TRUE(decision->passed);
            ++admitted_[identifier];
        }
    }

    RedisCluster cluster_{{.masters = 3, .replicas = 1}};
    std::vector<Limiter> nodes_ = make_nodes(2, cluster_.node(1).url(), 500ms);
    std::mt19937 random_{1};
    Totals admitted_;
    Clock::duration longest_{};
};

TEST_F(ClusterRegion, ActsAsOneLimiter) {
    const Request request{
        .name_space = "cluster", .identifier = "alice", .limit = 50, .duration = 10min};
    int passed = 0;
    for (int i = 0; i < 200; ++i)
        passed += nodes_[random_() % 2].limit(request, kNow + i * 1s)->passed ? 1 : 0;
    EXPECT_GE(passed, 50);
    EXPECT_LE(passed, 51);
    spend(300);
    admitted_["alice"] = passed;
    EXPECT_TRUE(eventually([&] { return totals_of(cluster_, {0, 1, 2}) == admitted_; }));
    EXPECT_EQ(totals_of(cluster_, {0, 1, 2}), admitted_);
}

TEST_F(ClusterRegion, LosesNothingWhileAMasterFailsOver) {
    spend(300);
    EXPECT_TRUE(eventually([&] { return totals_of(cluster_, {0, 1, 2}) == admitted_; }));
    cluster_.node(0).kill();
    // Its replica takes over within about two seconds.
    const auto took_over = [&] {
        spend(20);
        return cluster_.node(3).command({"ROLE"}).list.at(0).text == "master";
    };
    EXPECT_TRUE(eventually(took_over));
    spend(100);
    EXPECT_TRUE(eventually([&] { return totals_of(cluster_, {1, 2, 3}) == admitted_; }));
    EXPECT_EQ(totals_of(cluster_, {1, 2, 3}), admitted_);
    EXPECT_LT(longest_, 500ms + 1s);
    // It is one limiter as before: what one node spends, the other knows.
    const Request request{
        .name_space = "cluster", .identifier = "k0", .limit = admitted_["k0"], .duration = 10min};
    for (Limiter& node : nodes_)
        EXPECT_FALSE(node.limit(request, kNow + 20s)->passed);
}

}  // namespace
}  // namespace sluice::regional_test
