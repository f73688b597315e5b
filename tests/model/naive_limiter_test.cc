#include "model/naive_limiter.h"

#include <array>

#include <gtest/gtest.h>

namespace sluice::model {
namespace {

using std::chrono::milliseconds;

UnixTime at(std::int64_t time) {
    return UnixTime{milliseconds{time}};
}

Request ask(std::int64_t cost, std::int64_t limit) {
    return {.name_space = "n",
            .identifier = "i",
            .limit = limit,
            .duration = milliseconds{1'000},
            .cost = cost};
}

TEST(NaiveLimiter, WeighsThePreviousCellByWhatIsLeftOfIt) {
    NaiveLimiter limiter;
    EXPECT_TRUE(limiter.limit(ask(10, 10), at(5'999))->passed);
    EXPECT_FALSE(limiter.limit(ask(1, 10), at(6'099))->passed);
    const auto decision = limiter.limit(ask(1, 10), at(6'100));
    EXPECT_TRUE(decision->passed);
    EXPECT_EQ(decision->remaining, 0);
    EXPECT_EQ(decision->reset_at, at(7'000));
}

TEST(NaiveLimiter, RoundsWhatRemainsDown) {
    NaiveLimiter limiter;
    EXPECT_EQ(limiter.limit(ask(1, 10), at(5'000))->remaining, 9);
    EXPECT_EQ(limiter.limit(ask(0, 10), at(6'001))->remaining, 9);
    EXPECT_EQ(limiter.limit(ask(0, 10), at(6'999))->remaining, 9);
    EXPECT_EQ(limiter.limit(ask(0, 10), at(7'000))->remaining, 10);
}

TEST(NaiveLimiter, FindsTheFirstMillisecondThatPasses) {
    for (std::int64_t spent = 1; spent <= 7; ++spent) {
        for (std::int64_t cost = 0; cost <= 7; ++cost) {
            NaiveLimiter limiter;
            ASSERT_TRUE(limiter.limit(ask(7 - spent, 7), at(4'990))->passed);
            ASSERT_TRUE(limiter.limit(ask(spent, 100), at(5'400))->passed);
            std::int64_t time = 5'400;
            const auto first = limiter.limit(ask(cost, 7), at(time));
            auto later = first;
            while (!later->passed) {
                later = limiter.limit(ask(cost, 7), at(++time));
            }
            if (!first->passed) {
                EXPECT_EQ(first->retry_at, at(time));
            }
        }
    }
}

TEST(NaiveLimiter, HasNoRetryTimeForWhatNeverPasses) {
    NaiveLimiter limiter;
    EXPECT_EQ(limiter.limit(ask(0, 0), at(0))->retry_at, std::nullopt);
    EXPECT_EQ(limiter.limit(ask(8, 7), at(0))->retry_at, std::nullopt);
    EXPECT_FALSE(limiter.limit(ask(0, 0), at(0))->passed);
}

TEST(NaiveLimiter, DecidesOldRequestsAtTheOldestInstantHeld) {
    NaiveLimiter limiter;
    EXPECT_TRUE(limiter.limit(ask(4, 10), at(8'500))->passed);
    EXPECT_TRUE(limiter.limit(ask(3, 10), at(9'000))->passed);
    EXPECT_EQ(limiter.limit(ask(0, 10), at(10'000))->remaining, 7);
    const auto decision = limiter.limit(ask(1, 10), at(8'100));
    EXPECT_EQ(decision->reset_at, at(10'000));
    EXPECT_EQ(decision->remaining, 2);
}

TEST(NaiveLimiter, SpendsAllOfABatchOrNothing) {
    NaiveLimiter limiter;
    const std::array good{ask(2, 10), ask(3, 10)};
    const auto spent = limiter.limit_many(good, at(5'000));
    EXPECT_TRUE(spent->passed);
    EXPECT_EQ(spent->decisions[0].remaining, 8);
    EXPECT_EQ(spent->decisions[1].remaining, 5);

    const std::array bad{ask(4, 10), ask(2, 10)};
    const auto refused = limiter.limit_many(bad, at(5'000));
    EXPECT_FALSE(refused->passed);
    EXPECT_TRUE(refused->decisions[0].passed);
    EXPECT_EQ(refused->decisions[0].remaining, 5);
    EXPECT_FALSE(refused->decisions[1].passed);
    EXPECT_EQ(refused->decisions[1].retry_at, at(6'200));
    EXPECT_EQ(limiter.limit(ask(0, 10), at(5'000))->remaining, 5);
}

TEST(NaiveLimiter, RefusesWhatIsOutOfRange) {
    NaiveLimiter limiter;
    EXPECT_FALSE(limiter.limit(ask(-1, 10), at(0)));
    EXPECT_FALSE(limiter.limit(ask(1, kMaxNumber + 1), at(0)));
    EXPECT_FALSE(limiter.limit(ask(1, 10), at(-1)));
    EXPECT_FALSE(limiter.limit_many({}, at(0)));
}

}  // namespace
}  // namespace sluice::model
