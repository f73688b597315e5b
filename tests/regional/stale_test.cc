// Nodes whose counts of their peers are out of date.
#include <sluice/limiter.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;

// The first instant of a window of five minutes.
constexpr UnixTime kStart{1'699'999'800'000ms};

// How many of `count` requests at once pass at a node.
int pass_at_once(Limiter& node, const Request& request, UnixTime now, int count) {
    constexpr int kThreads = 8;
    std::atomic<int> passed{0};
    std::latch begin{kThreads};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            begin.arrive_and_wait();
            for (int asked = 0; asked < count / kThreads; ++asked)
                if (node.limit(request, now)->passed) ++passed;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return passed;
}

// Until then a node lets the origin decide everything.
void wait_until_counted(const std::vector<Limiter>& nodes, std::size_t others = 0) {
    ASSERT_TRUE(eventually([&] {
        return std::ranges::all_of(nodes, [&](const Limiter& node) {
            return node.stats().origin.nodes == nodes.size() + others;
        });
    }));
}

TEST(StaleNodes, PassAtMostOneRequestEachOfABurst) {
    RedisServer redis;
    auto nodes = make_nodes(5, redis.url());
    Limiter spender = make_node(redis.url());
    const Request request{.name_space = "burst",
                          .identifier = "alice",
                          .limit = 162'000,
                          .duration = 5min,
                          .cost = 1'500};
    ASSERT_NO_FATAL_FAILURE(wait_until_counted(nodes, 1));
    for (Limiter& node : nodes) {
        ASSERT_TRUE(node.limit(request, kStart)->passed);
        ASSERT_TRUE(becomes_synced(node, request, kStart));
    }
    Request rest = request;
    rest.cost = 160'000 - 5 * 1'500;
    ASSERT_TRUE(spender.limit(rest, kStart + 20s)->passed);
    ASSERT_TRUE(becomes_synced(spender, request, kStart + 20s));
    ASSERT_EQ(total_of(redis, "alice"), 160'000);

    const UnixTime now = kStart + 30s;
    for (Limiter& node : nodes) {
        const Inspection held = inspect(node, request, now);
        EXPECT_LE(held.current.admitted + held.current.peers, 7'500);
        EXPECT_EQ(held.refreshed_at, kStart);
    }
    std::vector<int> passed(nodes.size());
    std::vector<std::thread> bursts;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        bursts.emplace_back([&, i] { passed[i] = pass_at_once(nodes[i], request, now, 200); });
    for (std::thread& burst : bursts)
        burst.join();
    int sum = 0;
    for (const int at_node : passed) {
        EXPECT_LE(at_node, 1);
        sum += at_node;
    }
    EXPECT_GE(sum, 1);
    EXPECT_TRUE(eventually([&] { return total_of(redis, "alice") == 160'000 + 1'500 * sum; }));
}

TEST(ColdServers, ABurstAtAllOfThemPassesTheLimit) {
    constexpr std::int64_t kAllowed = 162'000 / 1'500;
    constexpr int kConnections = 4;
    constexpr int kEach = 50;  // on each connection, so that a server gets 200
    RedisServer redis;
    const Servers servers = make_servers(5, redis.url(), {"--test-clock"});
    const std::string request = request_for({.identifier = "alice",
                                             .limit = 162'000,
                                             .duration = 5min,
                                             .cost = 1'500,
                                             .at = kStart.time_since_epoch().count()});
    std::string requests;
    for (int i = 0; i < kEach; ++i)
        requests += request;
    std::atomic<int> passed{0};
    std::latch begin{5 * kConnections};
    std::vector<std::thread> threads;
    for (int i = 0; i < 5 * kConnections; ++i) {
        threads.emplace_back([&, i] {
            auto connection = servers[static_cast<std::size_t>(i % 5)]->connect();
            begin.arrive_and_wait();
            connection.send(requests);
            for (int answer = 0; answer < kEach; ++answer) {
                const LimitResult result = read_limit_result(connection.receive());
                EXPECT_EQ(result.status, 200) << result.body;
                if (result.passed) ++passed;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::cout << passed << " passed; one limiter would pass " << kAllowed << "\n";
    RecordProperty("passed", passed);
    EXPECT_GE(passed, kAllowed);
    EXPECT_LE(passed, kAllowed + 2);
    EXPECT_TRUE(eventually([&] { return total_of(redis, "alice") == 1'500 * passed; }));
}

const Request kIdleRequest{
    .name_space = "idle", .identifier = "alice", .limit = 100, .duration = 5min};

// The first node spends one at kStart, and gets no request since; the second one spends the
// remainder, `then`.
void spend_while_the_first_idles(std::vector<Limiter>& nodes, UnixTime then) {
    ASSERT_NO_FATAL_FAILURE(wait_until_counted(nodes));
    ASSERT_TRUE(nodes[0].limit(kIdleRequest, kStart)->passed);
    ASSERT_TRUE(becomes_synced(nodes[0], kIdleRequest, kStart));
    Request rest = kIdleRequest;
    rest.cost = 99;
    ASSERT_TRUE(nodes[1].limit(rest, then)->passed);
    ASSERT_TRUE(becomes_synced(nodes[1], kIdleRequest, then));
}

class IdleNode : public testing::TestWithParam<std::chrono::milliseconds> {};

TEST_P(IdleNode, PassesOneRequestBeforeItReadsTheOriginAndDenies) {
    RedisServer redis;
    auto nodes = make_nodes(2, redis.url());
    const Request& request = kIdleRequest;
    ASSERT_NO_FATAL_FAILURE(spend_while_the_first_idles(nodes, kStart + 1ms));

    // By its counts, enough is left for one request. Its pass is flushed, and the answer brings
    // what the other node spent.
    const UnixTime now = kStart + GetParam();
    int passed = 0;
    for (int i = 0; i < 20; ++i) {
        if (!nodes[0].limit(request, now)->passed) continue;
        ++passed;
        ASSERT_TRUE(becomes_synced(nodes[0], request, now));
    }
    EXPECT_EQ(passed, 1);
    EXPECT_FALSE(nodes[0].limit(request, now + 1s)->passed);
    EXPECT_FALSE(nodes[1].limit(request, now + 1s)->passed);
}

INSTANTIATE_TEST_SUITE_P(For, IdleNode, testing::Values(2ms, 1'000ms, 4'000ms, 6'000ms, 200'000ms));

// A client that spends the limit at one node, and then turns to the others.
TEST(IdleNodes, PassOneRequestEachOfALimitThatAPeerHasSpent) {
    RedisServer redis;
    auto nodes = make_nodes(5, redis.url());
    const Request request{
        .name_space = "idle", .identifier = "bob", .limit = 108, .duration = 5min};
    ASSERT_NO_FATAL_FAILURE(wait_until_counted(nodes));
    for (Limiter& node : nodes) {
        ASSERT_TRUE(node.limit(request, kStart)->passed);
        ASSERT_TRUE(becomes_synced(node, request, kStart));
    }
    Request rest = request;
    rest.cost = 103;
    ASSERT_TRUE(nodes[0].limit(rest, kStart + 20s)->passed);
    ASSERT_TRUE(becomes_synced(nodes[0], request, kStart + 20s));
    int passed = 0;
    for (int round = 0; round < 2; ++round) {
        for (Limiter& node : nodes) {
            if (!node.limit(request, kStart + 30s)->passed) continue;
            ++passed;
            ASSERT_TRUE(becomes_synced(node, request, kStart + 30s));
        }
    }
    EXPECT_EQ(passed, 4);
    EXPECT_TRUE(eventually([&] { return total_of(redis, "bob") == 108 + passed; }));
}

TEST(IdleNode, KnowsItsPeersSpendInThePreviousWindow) {
    RedisServer redis;
    auto nodes = make_nodes(2, redis.url());
    const Request& request = kIdleRequest;
    ASSERT_NO_FATAL_FAILURE(spend_while_the_first_idles(nodes, kStart + 4min));
    // A tenth of the next window: nine tenths of the last one still count.
    int passed = 0;
    for (int i = 0; i < 20; ++i)
        if (nodes[0].limit(request, kStart + 5min + 30s)->passed) ++passed;
    EXPECT_EQ(passed, 10);
}

}  // namespace
}  // namespace sluice::regional_test
