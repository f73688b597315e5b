// The conveniences of the public headers: UniqueFunction, RequestTime, Rule, optional times.
#include <sluice/limiter.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST(UniqueFunction, OwnsAMoveOnlyCallable) {
    UniqueFunction<int(int)> add = [base = std::make_unique<int>(40)](int n) { return *base + n; };
    UniqueFunction<int(int)> moved = std::move(add);
    EXPECT_FALSE(add);  // NOLINT(bugprone-use-after-move)
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved(2), 42);
}

TEST(UniqueFunction, HoldsLargeCallablesAndDestroysEachOnce) {
    const auto shared = std::make_shared<int>(1);
    {
        const std::array<std::shared_ptr<int>, 4> many{shared, shared, shared, shared};
        UniqueFunction<long()> large = [many] { return many[0].use_count(); };
        UniqueFunction<long()> small = [shared] { return shared.use_count(); };
        EXPECT_EQ(large(), 10);
        large = std::move(small);
        EXPECT_EQ(large(), 6);
        large = nullptr;
        EXPECT_FALSE(large);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(RequestTime, TakesTimesOfAnyPrecisionAndRoundsThemDown) {
    EXPECT_EQ(RequestTime(std::chrono::sys_time<std::chrono::nanoseconds>{1'999'999ns}).at,
              UnixTime{1ms});
    EXPECT_EQ(RequestTime(std::chrono::sys_seconds{2s}).at, UnixTime{2000ms});
    EXPECT_EQ(RequestTime(std::chrono::sys_time<std::chrono::nanoseconds>{-1ns}).at,
              UnixTime{-1ms});
}

TEST(Rule, LimitsEachIdentifierByItself) {
    Limiter limiter = *Limiter::create({});
    const Rule logins{.name_space = "login", .limit = 2, .duration = 60s};
    EXPECT_TRUE(limiter.limit(logins, "alice", 2)->passed);
    EXPECT_FALSE(limiter.limit(logins, "alice")->passed);
    EXPECT_TRUE(limiter.limit(logins, std::string("bob"))->passed);
    EXPECT_EQ(limiter.limit(logins.request("bob", 0))->remaining, 1);
}

TEST(SystemClock, IsReadWhereNoTimeIsGiven) {
    Limiter limiter = *Limiter::create({});
    const Request hourly{.name_space = "n", .identifier = "a", .limit = 10, .duration = 8760h};
    EXPECT_EQ(limiter.limit(hourly, std::chrono::system_clock::now())->remaining, 9);
    EXPECT_EQ((*limiter.try_limit(hourly))->remaining, 8);
    EXPECT_EQ((*limiter.try_limit_many({&hourly, 1}))->decisions[0].remaining, 7);
    std::promise<Result<Decision>> single;
    std::future<Result<Decision>> decided = single.get_future();
    limiter.limit_async(hourly, [single = std::move(single)](Result<Decision> decision) mutable {
        single.set_value(std::move(decision));
    });
    EXPECT_EQ(decided.get()->remaining, 6);
    std::int64_t remaining = 0;
    limiter.limit_many_async({&hourly, 1}, [&](Result<BatchDecision> batch) {
        remaining = batch->decisions[0].remaining;
    });
    EXPECT_EQ(remaining, 5);
    std::int64_t admitted = 0;
    limiter.inspect(hourly, [&](Result<Inspection> known) { admitted = known->current.admitted; });
    EXPECT_EQ(admitted, 5);
}

}  // namespace
}  // namespace sluice
