// Debits by a limiter: alone, with an origin and with a global store.
#include <sluice/limiter.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "service/test_options.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr UnixTime kNow{milliseconds{6'000'000}};

Request request(std::int64_t limit, std::int64_t cost) {
    return {.name_space = "tokens",
            .identifier = "alice",
            .limit = limit,
            .duration = 60s,
            .cost = cost};
}

// Each test its own stores.
std::string store() {
    return std::string("memory:debit_") +
           testing::UnitTest::GetInstance()->current_test_info()->name();
}

// Repeats until it holds, for up to ten seconds.
template <class Condition>
bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < end) {
        if (condition()) return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

TEST(Debit, IsSpentBeyondTheLimitAndReportsThat) {
    Limiter limiter = *Limiter::create({});
    EXPECT_TRUE(limiter.debit(request(100, 90), kNow)->passed);
    EXPECT_EQ(limiter.limit(request(100, 0), kNow)->remaining, 10);

    const Decision over = *limiter.debit(request(100, 200), kNow);
    EXPECT_FALSE(over.passed);
    EXPECT_EQ(over.remaining, 0);
    EXPECT_EQ(over.limit, 100);
    EXPECT_EQ(over.reset_at, kNow + 60s);
    EXPECT_FALSE(over.retry_at) << "a cost above the limit never passes";
    EXPECT_FALSE(limiter.limit(request(100, 0), kNow)->passed) << "a check is denied from now on";
    // 290 are spent: half a window later still 145 of them count, in the next but one none.
    EXPECT_FALSE(limiter.limit(request(100, 1), kNow + 90s)->passed);
    EXPECT_TRUE(limiter.limit(request(100, 1), kNow + 120s)->passed);
}

TEST(Debit, SaturatesAtTheLargestCount) {
    constexpr std::int64_t kMost = (std::int64_t{1} << 53) - 1;
    Limiter limiter = *Limiter::create({});
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(limiter.debit(request(10, kMost), kNow));
    EXPECT_FALSE(limiter.limit(request(kMost, 1), kNow)->passed);
    EXPECT_EQ(limiter.limit(request(kMost, 0), kNow)->remaining, 0);
}

TEST(Debit, RefusesWhatIsNotValid) {
    Limiter limiter = *Limiter::create({});
    const auto negative = limiter.debit(request(10, -1), kNow);
    ASSERT_FALSE(negative);
    EXPECT_EQ(negative.error().message, "cost is -1; allowed: 0 to 9007199254740991");
    EXPECT_FALSE(limiter.debit(request(10, 1), UnixTime{milliseconds{-1}}));
}

TEST(Debit, OfManyThreadsLosesNothing) {
    Limiter limiter = *Limiter::create({});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < 5'000; ++j) {
                const Result<Decision> decision = limiter.debit(request(100, 1), kNow);
                ASSERT_TRUE(decision);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(limiter.limit(request(1'000'000, 0), kNow)->remaining, 1'000'000 - 20'000);
}

TEST(Debit, DoesNotWaitForTheOriginAndIsWrittenThere) {
    Limiter a = *Limiter::create({.region = "eu", .origin = store()});
    Limiter b = *Limiter::create({.region = "eu", .origin = store()});
    EXPECT_TRUE(a.debit(request(1'000, 400), kNow)->passed) << "of a key that it never read";
    EXPECT_FALSE(a.debit(request(1'000, 900), kNow)->passed);
    EXPECT_EQ(a.stats().origin.spends, 0U);
    EXPECT_TRUE(eventually([&] { return a.stats().origin.flushed > 0; }));
    EXPECT_TRUE(eventually([&] { return !b.limit(request(1'000, 1), kNow)->passed; }));
}

TEST(Debit, IsPublishedToOtherRegions) {
    const TestOptions often{.global_interval = 10ms};
    Limiter eu = *create_limiter({.region = "eu", .global = store()}, often);
    Limiter us = *create_limiter({.region = "us", .global = store()}, often);
    const auto now = std::chrono::system_clock::now();
    ASSERT_TRUE(eu.debit(request(1'000, 5'000), now));
    EXPECT_TRUE(eventually([&] { return !us.limit(request(1'000, 0), now)->passed; }));
}

}  // namespace
}  // namespace sluice
