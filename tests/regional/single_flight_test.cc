// How often the origin is read: once for all that wait, and hardly ever for those who are denied.
#include <sluice/limiter.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "redis/redis_server.h"
#include "regional/eventually.h"
#include "regional/held_cells.h"
#include "regional/limit_client.h"
#include "regional/nodes.h"
#include "server/metrics_text.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;

constexpr UnixTime kStart{1'699'999'800'000ms};
constexpr int kCallers = 32;

Request request_for_alice(std::int64_t limit) {
    return {.name_space = "flight", .identifier = "alice", .limit = limit, .duration = 5min};
}

int pass_at_once(Limiter& node, const Request& request, UnixTime now) {
    std::atomic<int> passed{0};
    std::latch begin{kCallers};
    std::vector<std::thread> threads;
    for (int i = 0; i < kCallers; ++i) {
        threads.emplace_back([&] {
            begin.arrive_and_wait();
            if (node.limit(request, now)->passed) ++passed;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return passed;
}

class SingleFlight : public testing::Test {
  protected:
    std::uint64_t reads() const { return node_.stats().origin.reads; }

    RedisServer redis_;
    Limiter node_ = make_node(redis_.url());
};

TEST_F(SingleFlight, ManyCallersOfAColdKeyReadItOnce) {
    const Request request = request_for_alice(1'000'000);
    const auto before = cells_read(redis_);
    EXPECT_EQ(pass_at_once(node_, request, kStart), kCallers);
    EXPECT_EQ(reads(), 1U);
    ASSERT_TRUE(becomes_told(node_, request, kStart));
    // The current and the previous cell.
    EXPECT_EQ(cells_read(redis_) - before, 2);
}

TEST_F(SingleFlight, ManyCallersOfAStaleKeyReadItOnce) {
    const Request request = request_for_alice(1'000'000);
    ASSERT_TRUE(node_.limit(request, kStart)->passed);
    ASSERT_TRUE(becomes_told(node_, request, kStart));
    EXPECT_EQ(reads(), 1U);
    const auto before = cells_read(redis_);
    EXPECT_EQ(pass_at_once(node_, request, kStart + 20s), kCallers);
    EXPECT_EQ(reads(), 2U);
    ASSERT_TRUE(becomes_told(node_, request, kStart + 20s));
    EXPECT_EQ(cells_read(redis_) - before, 2);
}

TEST_F(SingleFlight, ManyCallersWaitForAReadThatIsUnderway) {
    const Request request = request_for_alice(1'000'000);
    const auto before = cells_read(redis_);
    redis_.pause();
    std::atomic<int> passed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kCallers; ++i)
        threads.emplace_back([&] { passed += node_.limit(request, kStart)->passed ? 1 : 0; });
    ASSERT_TRUE(eventually([&] { return reads() == 1; }));
    EXPECT_EQ(passed, 0);
    redis_.resume();
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(passed, kCallers);
    EXPECT_EQ(reads(), 1U);
    EXPECT_EQ(node_.stats().origin.fallbacks, 0U);
    ASSERT_TRUE(becomes_told(node_, request, kStart));
    EXPECT_EQ(cells_read(redis_) - before, 2);
}

TEST_F(SingleFlight, ADeniedClientThatHammersReadsNothing) {
    const Request request = request_for_alice(10);
    while (node_.limit(request, kStart)->passed) {
    }
    ASSERT_TRUE(becomes_told(node_, request, kStart));
    const auto before = reads();
    for (int i = 0; i < 10'000; ++i)
        ASSERT_FALSE(node_.limit(request, kStart + i * 10ms)->passed);
    EXPECT_LE(reads() - before, 5U);
}

TEST_F(SingleFlight, AClientThatAnotherNodeDeniedReadsAHandfulOfTimes) {
    const Request request = request_for_alice(10);
    Limiter other = make_node(redis_.url());
    while (other.limit(request, kStart)->passed) {
    }
    ASSERT_TRUE(becomes_told(other, request, kStart));
    for (int i = 0; i < 10'000; ++i)
        ASSERT_FALSE(node_.limit(request, kStart + i * 10ms)->passed);
    EXPECT_LE(reads(), 5U);
}

TEST(SingleFlightOverHttp, ADeniedClientThatHammersReadsNothing) {
    RedisServer redis;
    const server_test::Server server(sharing(redis.url(), {"--test-clock"}));
    auto connection = server.connect();
    const std::string request = request_for({.identifier = "alice",
                                             .limit = 10,
                                             .duration = 5min,
                                             .at = kStart.time_since_epoch().count()});
    std::string requests;
    for (int i = 0; i < 50; ++i)
        requests += request;
    int passed = 0;
    for (int round = 0; round < 40; ++round) {
        connection.send(requests);
        for (int i = 0; i < 50; ++i)
            passed += read_fared(connection.receive()).passed ? 1 : 0;
    }
    EXPECT_EQ(passed, 10);
    // Each of the last few passes asks.
    EXPECT_LE(server_test::sum_of(server.get("/metrics").body, "sluice_origin_reads_total"), 15);
}

}  // namespace
}  // namespace sluice::regional_test
