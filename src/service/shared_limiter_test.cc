// Limiters that share an origin in this process.
#include <sluice/limiter.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr UnixTime kNow{milliseconds{6'000'000}};

class SharedLimiterTest : public testing::Test {
  protected:
    Limiter join(std::size_t max_keys = 1'000) {
        return *Limiter::create({.region = "eu", .max_keys = max_keys, .origin = origin_});
    }
    static Request request(std::string_view identifier, std::int64_t limit, std::int64_t cost = 1) {
        return {.name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = 60s,
                .cost = cost};
    }

    // Each test its own region.
    const std::string origin_ =
        std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SharedLimiterTest, OneLimitHoldsForAllNodes) {
    Limiter a = join();
    Limiter b = join();
    Limiter c = join();
    int passed = 0;
    for (int i = 0; i < 30; ++i) {
        Limiter* const nodes[] = {&a, &b, &c};
        passed += nodes[i % 3]->limit(request("x", 10), kNow)->passed ? 1 : 0;
    }
    EXPECT_EQ(passed, 10);
}

TEST_F(SharedLimiterTest, ANewNodeKnowsWhatTheRegionSpent) {
    Limiter a = join();
    EXPECT_TRUE(a.limit(request("x", 1'000, 900), kNow)->passed);
    a.close(1s);
    Limiter b = join();
    EXPECT_FALSE(b.limit(request("x", 1'000, 101), kNow)->passed);
    EXPECT_TRUE(b.limit(request("x", 1'000, 100), kNow)->passed);
}

// The origin still holds what was spent before the clock stepped forward and back.
TEST_F(SharedLimiterTest, AKeyThatStartsOverReadsItsCountsFromTheOrigin) {
    Limiter a = join();
    Limiter b = join();
    const UnixTime far = kNow + 3600s;
    EXPECT_TRUE(b.limit(request("x", 1'000, 900), kNow)->passed);
    EXPECT_TRUE(a.limit(request("x", 1'000, 1), far)->passed);
    ASSERT_EQ(a.stats().keys_started_over, 0U);
    EXPECT_FALSE(a.limit(request("x", 1'000, 101), kNow)->passed);
    EXPECT_TRUE(a.limit(request("x", 1'000, 100), kNow)->passed);
    EXPECT_EQ(a.stats().keys_started_over, 1U);
}

TEST_F(SharedLimiterTest, AStrictKeyStartsOverToo) {
    Limiter a = join();
    const UnixTime far = kNow + 3600s;
    EXPECT_TRUE(a.limit(request("x", 10, 10), kNow)->passed);
    EXPECT_TRUE(a.limit(request("x", 10, 10), far)->passed);
    EXPECT_FALSE(a.limit(request("x", 10), far)->passed);
    EXPECT_FALSE(a.limit(request("x", 10), kNow)->passed);
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(a.limit(request("x", 10), kNow + 120s)->passed);
    EXPECT_FALSE(a.limit(request("x", 10), kNow + 120s)->passed);
}

TEST_F(SharedLimiterTest, AWarmKeyIsDecidedHereOnceTheNodesAreCounted) {
    Limiter a = join();
    Limiter b = join();
    while (a.stats().origin.nodes != 2)
        std::this_thread::sleep_for(10ms);
    for (int i = 0; i < 1'000; ++i)
        EXPECT_TRUE(a.limit(request("x", 1'000'000), kNow)->passed);
    EXPECT_EQ(a.stats().origin.spends, 1U);
}

TEST_F(SharedLimiterTest, ManyCallersOfAColdKeyShareCalls) {
    Limiter a = join();
    std::vector<std::thread> callers;
    std::atomic<int> passed{0};
    for (int i = 0; i < 32; ++i) {
        callers.emplace_back([&] { passed += a.limit(request("x", 1'000), kNow)->passed ? 1 : 0; });
    }
    for (std::thread& caller : callers)
        caller.join();
    EXPECT_EQ(passed, 32);
    EXPECT_EQ(a.stats().origin.spends, 32U);
    EXPECT_LE(a.stats().origin.spend_calls, 32U);
}

TEST_F(SharedLimiterTest, AHammeringClientCostsNoCalls) {
    Limiter a = join();
    EXPECT_TRUE(a.limit(request("x", 100, 100), kNow)->passed);
    const std::uint64_t before = a.stats().origin.spend_calls;
    for (int i = 0; i < 10'000; ++i)
        EXPECT_FALSE(a.limit(request("x", 100), kNow)->passed);
    EXPECT_EQ(a.stats().origin.spend_calls, before);
    EXPECT_EQ(a.stats().strict_activations, 1U);
}

TEST_F(SharedLimiterTest, ABatchReadsAllItsColdKeysAndDecides) {
    Limiter a = join();
    Limiter b = join();
    EXPECT_TRUE(b.limit(request("2", 1'000, 995), kNow)->passed);
    b.close(1s);
    const std::vector<Request> batch = {
        request("1", 1'000, 6), request("2", 1'000, 6), request("3", 1'000, 6)};
    const auto decided = a.limit_many(batch, kNow);
    ASSERT_TRUE(decided);
    EXPECT_FALSE(decided->passed);
    EXPECT_FALSE(decided->decisions[1].passed);
    EXPECT_EQ(a.limit(request("1", 1'000, 0), kNow)->remaining, 1'000) << "nothing was spent";
}

TEST_F(SharedLimiterTest, TheFormsForEventLoopsNeverWait) {
    Limiter a = join();
    while (a.stats().origin.nodes != 1)
        std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(a.try_limit(request("x", 1'000), kNow).has_value());
    std::promise<Result<Decision>> cold;
    a.limit_async(request("x", 1'000), kNow, [&](auto decision) { cold.set_value(decision); });
    EXPECT_EQ(cold.get_future().get()->remaining, 999);
    std::optional<Result<Decision>> warm;
    while (!(warm = a.try_limit(request("x", 1'000), kNow)))  // soon after the answer
        std::this_thread::sleep_for(1ms);
    EXPECT_EQ((*warm)->remaining, 998);
    int answers = 0;
    a.limit_async(request("x", 1'000), kNow, [&](auto decision) {
        ++answers;
        EXPECT_EQ(decision->remaining, 997);
    });
    EXPECT_EQ(answers, 1) << "at hand, so before the call returned";
}

TEST_F(SharedLimiterTest, ACallbackMayMakeAnotherRequest) {
    Limiter a = join();
    std::promise<Result<Decision>> second;
    a.limit_async(request("x", 1'000), kNow, [&](auto) {
        a.limit_async(
            request("y", 1'000), kNow, [&](auto decision) { second.set_value(decision); });
    });
    EXPECT_TRUE(second.get_future().get()->passed);
    EXPECT_EQ(a.stats().origin.spends, 2U);
    std::promise<Result<Decision>> waited;
    a.limit_async(request("z", 1'000), kNow, [&](auto) {
        waited.set_value(a.limit(request("w", 10), kNow));
    });
    EXPECT_TRUE(waited.get_future().get()->passed) << "but not wait for itself";
    EXPECT_EQ(a.stats().origin.fallbacks, 1U);
}

TEST_F(SharedLimiterTest, TheFormsForEventLoopsTakeBatchesToo) {
    Limiter a = join();
    while (a.stats().origin.nodes != 1)
        std::this_thread::sleep_for(10ms);
    const std::vector<Request> batch = {request("1", 1'000, 6), request("2", 1'000, 6)};
    EXPECT_FALSE(a.try_limit_many(batch, kNow).has_value());
    std::promise<Result<BatchDecision>> cold;
    a.limit_many_async(batch, kNow, [&](auto decision) { cold.set_value(std::move(decision)); });
    EXPECT_TRUE(cold.get_future().get()->passed);
    EXPECT_EQ(a.try_limit_many(batch, kNow).value()->decisions[1].remaining, 988);
}

TEST_F(SharedLimiterTest, AnInvalidRequestIsAnError) {
    Limiter a = join();
    EXPECT_FALSE(a.limit(request("", 10), kNow));
    EXPECT_FALSE(a.limit_many({}, kNow));
}

TEST_F(SharedLimiterTest, RequestsAfterCloseAreDecidedFromLocalCounts) {
    Limiter a = join();
    EXPECT_TRUE(a.limit(request("x", 10, 9), kNow)->passed);
    a.close(1s);
    EXPECT_TRUE(a.limit(request("x", 10), kNow)->passed);
    EXPECT_FALSE(a.limit(request("x", 10), kNow)->passed);
    EXPECT_TRUE(a.stats().origin.unavailable);
    EXPECT_GE(a.stats().origin.fallbacks, 1U);
}

TEST_F(SharedLimiterTest, ADisplacedKeyIsNotForgotten) {
    Limiter a = join(1);
    EXPECT_TRUE(a.limit(request("x", 100, 60), kNow)->passed);
    for (int i = 0; i < 20 || a.stats().keys_evicted == 0; ++i) {
        a.limit(request("other " + std::to_string(i), 100, 1), kNow).value();
        std::this_thread::sleep_for(1ms);  // it is flushed, so that it may be evicted
    }
    EXPECT_FALSE(a.limit(request("x", 100, 41), kNow)->passed);
    EXPECT_TRUE(a.limit(request("x", 100, 40), kNow)->passed);
    EXPECT_FALSE(a.limit(request("x", 100), kNow)->passed);
}

TEST_F(SharedLimiterTest, AnOriginMustBeOfAKnownKind) {
    const auto limiter = Limiter::create({.region = "eu", .origin = "http://secret@host"});
    ASSERT_FALSE(limiter);
    EXPECT_EQ(limiter.error().code, kInvalidOption);
    EXPECT_EQ(limiter.error().message.find("secret"), std::string::npos);
}

TEST_F(SharedLimiterTest, InspectShowsTheCountsOfEachNode) {
    Limiter a = join();
    Limiter b = join();
    EXPECT_TRUE(a.limit(request("x", 100, 30), kNow)->passed);
    a.close(1s);
    EXPECT_TRUE(b.limit(request("x", 100, 65), kNow)->passed);
    EXPECT_FALSE(b.limit(request("x", 100, 20), kNow)->passed);
    std::promise<Result<Inspection>> inspected;
    b.inspect(request("x", 1), kNow, [&](auto inspection) { inspected.set_value(inspection); });
    const auto inspection = inspected.get_future().get();
    ASSERT_TRUE(inspection);
    EXPECT_TRUE(inspection->held);
    EXPECT_EQ(inspection->current.admitted, 65);
    EXPECT_EQ(inspection->current.peers, 30);
    EXPECT_EQ(inspection->last_limit, 100);
    EXPECT_EQ(inspection->strict_until, kNow + 60s);
    ASSERT_TRUE(inspection->current.origin.has_value());
    EXPECT_EQ(inspection->current.origin->total, 95);
    EXPECT_EQ(inspection->current.origin->components.size(), 2U);
    EXPECT_EQ(inspection->previous.origin->total, 0);
}

// Sequential requests, each at a node chosen at random: near the exact answer, which is what one
// node gives.
TEST_F(SharedLimiterTest, SequentialRequestsAreDecidedAsOneNodeWould) {
    std::mt19937 random(1);
    for (const std::int64_t limit : {10, 100}) {
        std::vector<Limiter> nodes;
        for (int i = 0; i < 5; ++i)
            nodes.push_back(join());
        Limiter exact = *Limiter::create({.region = "eu"});
        const std::string identifier = "x" + std::to_string(limit);
        int passed = 0;
        int expected = 0;
        UnixTime now = kNow;
        const auto step = milliseconds{60'000 * 10 / (limit * 15)};  // one and a half the limit
        for (; now < kNow + 600s; now += step) {
            const Request one = request(identifier, limit);
            passed += nodes[random() % nodes.size()].limit(one, now)->passed ? 1 : 0;
            expected += exact.limit(one, now)->passed ? 1 : 0;
        }
        EXPECT_NEAR(passed, expected, std::max(1.0, expected * 0.01)) << "limit " << limit;
    }
}

}  // namespace
}  // namespace sluice
