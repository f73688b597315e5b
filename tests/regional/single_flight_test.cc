// The number of calls to the origin: one for all queued requests, none for denied ones.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;

constexpr UnixTime kStart{1'699'999'800'000ms};
constexpr int kCallers = 32;

Request request_of(std::string_view identifier, std::int64_t limit) {
    return {.name_space = "flight", .identifier = identifier, .limit = limit, .duration = 5min};
}
Request request_for_alice(std::int64_t limit) {
    return request_of("alice", limit);
}

// Whether a thread of this process sleeps, such as on a condition variable. False for 0.
bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string status;
    std::getline(file, status);
    return status.find(") S ") != std::string::npos;
}

class SingleFlight : public testing::Test {
  protected:
    std::uint64_t calls() const { return node_.stats().origin.spend_calls; }

    RedisServer redis_;
    Limiter node_ = make_node(redis_.url(), 5s);
};

TEST_F(SingleFlight, CallersThatArriveWhileACallIsUnderwayShareTheNext) {
    const Request request = request_for_alice(1'000'000);
    // The first call awaits the answer to a heartbeat.
    ASSERT_TRUE(node_.limit(request_of("bob", 1), kStart)->passed);
    ASSERT_EQ(calls(), 1U);
    redis_.pause();
    std::atomic<int> passed{0};
    std::vector<std::thread> threads;
    std::array<std::atomic<pid_t>, kCallers> callers{};
    std::atomic<std::size_t> begun{0};
    const auto call = [&] {
        callers[begun++] = gettid();
        passed += node_.limit(request, kStart)->passed ? 1 : 0;
    };
    threads.emplace_back(call);
    ASSERT_TRUE(eventually([&] { return calls() == 2; }));
    for (int i = 1; i < kCallers; ++i)
        threads.emplace_back(call);
    EXPECT_TRUE(eventually([&] { return std::ranges::all_of(callers, sleeps); }));
    EXPECT_EQ(passed, 0);
    redis_.resume();
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(passed, kCallers);
    EXPECT_EQ(calls(), 3U);
    EXPECT_EQ(node_.stats().origin.spends, static_cast<std::uint64_t>(kCallers + 1));
    EXPECT_EQ(node_.stats().origin.fallbacks, 0U);
    EXPECT_EQ(total_of(redis_, "alice"), kCallers) << "the grant was the write";
}

TEST_F(SingleFlight, ADeniedClientThatRetriesCostsNoCalls) {
    const Request request = request_for_alice(10);
    while (node_.limit(request, kStart)->passed) {
    }
    const auto before = calls();
    for (int i = 0; i < 10'000; ++i)
        ASSERT_FALSE(node_.limit(request, kStart + i * 10ms)->passed);
    EXPECT_LE(calls() - before, 5U);
}

TEST_F(SingleFlight, AClientThatAPeerDeniedCostsFewCalls) {
    const Request request = request_for_alice(10);
    Limiter other = make_node(redis_.url());
    while (other.limit(request, kStart)->passed) {
    }
    for (int i = 0; i < 10'000; ++i)
        ASSERT_FALSE(node_.limit(request, kStart + i * 10ms)->passed);
    EXPECT_LE(calls(), 5U);
}

TEST(SingleFlightOverHttp, ADeniedClientThatRetriesCostsNoCalls) {
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
            passed += read_limit_result(connection.receive()).passed ? 1 : 0;
    }
    EXPECT_EQ(passed, 10);
    EXPECT_LE(server_test::sum_of(server.get("/metrics").body, "sluice_origin_spends_total"), 15);
}

}  // namespace
}  // namespace sluice::regional_test
