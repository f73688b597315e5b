// What a clock that steps forward and back costs a key: it is usable within two of its windows of
// the right time, and at most one limit passes beyond its own because of the step.
#include <sluice/limiter.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kStart = 1'700'000'040'000;  // a multiple of a minute

class ClockStep : public testing::Test {
  protected:
    bool pass(std::int64_t now, std::int64_t cost = 1) {
        return limiter_
            .limit({.name_space = "n",
                    .identifier = "k",
                    .limit = limit_,
                    .duration = milliseconds{window_},
                    .cost = cost},
                   UnixTime{milliseconds{now}})
            ->passed;
    }
    // So many of `requests` passed.
    std::int64_t passes(std::int64_t now, std::int64_t requests) {
        std::int64_t passed = 0;
        for (std::int64_t i = 0; i < requests; ++i)
            passed += pass(now) ? 1 : 0;
        return passed;
    }

    std::int64_t limit_ = 10;
    std::int64_t window_ = kMinute;
    Limiter limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
};

// Further ahead than what laps of a ring can tell apart, and not as far.
constexpr std::array kFarTimes = {kStart + 10 * kMinute,
                                  kStart + kHour / 2,
                                  kStart + 20 * kHour,
                                  kStart + 5'000 * kMinute,
                                  kStart * 1'000};

TEST_F(ClockStep, OneRequestFarAheadDeniesNothingAfterTwoWindows) {
    for (const std::int64_t far : kFarTimes) {
        limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
        ASSERT_TRUE(pass(kStart));
        ASSERT_TRUE(pass(far));
        int denied = 0;
        for (std::int64_t i = 1; i < 85; ++i) {  // nine in a window, up to the first far time
            const std::int64_t now = kStart + i * 7 * kSecond;
            const bool is_denied = !pass(now);
            denied += is_denied ? 1 : 0;
            EXPECT_FALSE(is_denied && now >= kStart + 2 * kMinute) << far << ", request " << i;
        }
        EXPECT_LE(denied, 9) << far;
    }
}

TEST_F(ClockStep, AKeyIsUsableTwoWindowsAfterItsLimitWasSpentFarAhead) {
    for (const std::int64_t far : kFarTimes) {
        limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
        passes(kStart, limit_);
        ASSERT_EQ(passes(far, limit_), limit_);
        EXPECT_EQ(passes(kStart + 2 * kMinute, 2 * limit_), limit_) << far;
    }
}

// Whatever the clock was when the key was last used before: also a key that is new.
TEST_F(ClockStep, AKeyThatBeganFarAheadIsUsableAtOnce) {
    for (const std::int64_t far : kFarTimes) {
        limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
        ASSERT_EQ(passes(far, limit_), limit_);
        EXPECT_EQ(passes(kStart, 2 * limit_), limit_) << far;
    }
}

TEST_F(ClockStep, AtMostOneLimitPassesBeyondItsOwn) {
    for (const std::int64_t far : kFarTimes) {
        for (const std::int64_t spent_ahead : {std::int64_t{1}, limit_ / 2, limit_}) {
            limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
            ASSERT_EQ(passes(kStart, limit_), limit_);
            ASSERT_EQ(passes(far, spent_ahead), spent_ahead);
            // While what was spent before the step counts in full, or in part.
            const std::int64_t after = passes(kStart + 1, 3 * limit_) +
                                       passes(kStart + kMinute, 3 * limit_) +
                                       passes(kStart + 2 * kMinute - 1, 3 * limit_);
            EXPECT_LE(spent_ahead + after, limit_) << far;
            EXPECT_EQ(passes(kStart + 4 * kMinute, 3 * limit_), limit_) << far;
        }
    }
}

// A thread whose clock is wrong beside one whose clock is right, or records of two logs.
TEST_F(ClockStep, TwoTimesInTurnPassAtMostALimitEachInTheirWindows) {
    for (const std::int64_t far : kFarTimes) {
        limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
        constexpr std::int64_t kWindows = 10;
        std::int64_t near_passes = 0;
        std::int64_t far_passes = 0;
        for (std::int64_t i = 0; i < 100 * kWindows; ++i) {
            near_passes += pass(kStart + i * kMinute / 100) ? 1 : 0;
            far_passes += pass(far + i * kMinute / 100) ? 1 : 0;
        }
        // Each time has at most a limit in each window, and the sliding window one more.
        EXPECT_LE(near_passes + far_passes, 2 * limit_ * (kWindows + 1)) << far;
        EXPECT_GE(near_passes, limit_) << far;
    }
}

TEST_F(ClockStep, ADenialSaysWhenTheKeyIsUsableAgain) {
    ASSERT_EQ(passes(kStart, limit_), limit_);
    ASSERT_EQ(passes(kStart + kHour, limit_), limit_);
    const Request request{
        .name_space = "n", .identifier = "k", .limit = limit_, .duration = milliseconds{window_}};
    const auto denied = limiter_.limit(request, UnixTime{milliseconds{kStart + 5}}).value();
    ASSERT_FALSE(denied.passed);
    EXPECT_EQ(denied.retry_at, UnixTime{milliseconds{kStart + 2 * kMinute}});
    EXPECT_FALSE(pass(kStart + 2 * kMinute - 1));
    EXPECT_TRUE(pass(kStart + 2 * kMinute));
}

// A request that is merely late is no step: what was counted meanwhile stays.
TEST_F(ClockStep, ALateRequestStartsNothingOver) {
    window_ = kSecond;
    ASSERT_EQ(passes(kStart, limit_), limit_);
    ASSERT_EQ(passes(kStart + 2 * kSecond, limit_), limit_);
    for (const std::int64_t late : {kSecond, 2 * kSecond - 1, 2 * kSecond})
        passes(kStart + 2 * kSecond - late, limit_);
    EXPECT_EQ(passes(kStart + 2 * kSecond, limit_), 0);
    // Suspended before the ring leapt, and resumed after.
    ASSERT_EQ(passes(kStart + 10 * kSecond, limit_), limit_);
    passes(kStart + 2 * kSecond + 1, limit_);
    EXPECT_EQ(passes(kStart + 10 * kSecond, limit_), 0);
}

// A wrong time that lasts, and many steps: what passes in any window of the true time is at most
// two limits, as the sliding window allows, and one for each step.
TEST_F(ClockStep, RandomStepsPassAtMostALimitEach) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        std::mt19937_64 random(seed);
        const auto below = [&](std::int64_t bound) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
        };
        limiter_ = Limiter::create({.region = "test", .max_keys = 1'000}).value();
        window_ = std::array{kSecond, kMinute, kHour}[seed % 3];
        std::int64_t error = 0;
        std::int64_t now = kStart;
        std::vector<std::int64_t> passed_at;
        std::vector<std::int64_t> stepped_at;
        for (int i = 0; i < 2'000; ++i) {
            now += below(window_ / 20);
            if (below(100) == 0) {
                error = below(2) == 0 ? 0 : below(20) * 10 * window_ + below(window_);
                stepped_at.push_back(now);
            }
            if (pass(now + error)) passed_at.push_back(now);
        }
        for (std::size_t first = 0, last = 0; first < passed_at.size(); ++first) {
            const std::int64_t from = passed_at[first];
            while (last < passed_at.size() && passed_at[last] < from + window_)
                ++last;
            std::int64_t steps = 0;
            for (const std::int64_t at : stepped_at)
                steps += at >= from - 2 * window_ && at < from + window_ ? 1 : 0;
            ASSERT_LE(static_cast<std::int64_t>(last - first), (2 + steps) * limit_)
                << "seed " << seed << " at " << from - kStart;
        }
        // Once the clock is right, and two windows later.
        passes(now, limit_);
        ASSERT_TRUE(pass(now + 2 * window_)) << "seed " << seed;
    }
}

}  // namespace
}  // namespace sluice
