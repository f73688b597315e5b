#include "breaker/breaker.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using State = Breaker::State;
using Time = Breaker::Time;

constexpr Time kStart{1'000'000s};

class BreakerTest : public testing::Test {
  protected:
    // Calls that take no time.
    void succeed(int times, Time at = kStart) {
        for (int i = 0; i < times; ++i)
            breaker_.succeeded({.began = at, .ended = at});
    }
    void fail(int times, Time at = kStart) {
        for (int i = 0; i < times; ++i)
            breaker_.failed({.began = at, .ended = at});
    }

    Breaker breaker_;
};

TEST_F(BreakerTest, IsClosedAtFirst) {
    EXPECT_EQ(breaker_.state(kStart), State::kClosed);
    EXPECT_TRUE(breaker_.allow(kStart));
}

TEST_F(BreakerTest, StaysClosedBelowTwentyCallsHoweverManyFail) {
    fail(19);
    EXPECT_EQ(breaker_.state(kStart), State::kClosed);
    fail(1);
    EXPECT_EQ(breaker_.state(kStart), State::kOpen);
}

TEST_F(BreakerTest, OpensWhenExactlyHalfFailed) {
    succeed(10);
    fail(9);
    EXPECT_EQ(breaker_.state(kStart), State::kClosed);
    fail(1);
    EXPECT_EQ(breaker_.state(kStart), State::kOpen);
}

TEST_F(BreakerTest, StaysClosedWhenFewerThanHalfFailed) {
    succeed(500'001);
    fail(500'000);
    EXPECT_EQ(breaker_.state(kStart), State::kClosed);
    fail(1);
    EXPECT_EQ(breaker_.state(kStart), State::kOpen);
}

// The twentieth call makes the share known, whatever became of that call.
TEST_F(BreakerTest, OpensAlsoWhenTheCallThatCompletesTheNumberSucceeds) {
    fail(19);
    succeed(1);
    EXPECT_EQ(breaker_.state(kStart), State::kOpen);
}

TEST_F(BreakerTest, CountsWhatEndedWithinTheWindow) {
    fail(10, kStart);
    fail(9, kStart + 9'999ms);
    EXPECT_EQ(breaker_.state(kStart + 9'999ms), State::kClosed);
    fail(1, kStart + 9'999ms);
    EXPECT_EQ(breaker_.state(kStart + 9'999ms), State::kOpen);
}

TEST_F(BreakerTest, ForgetsWhatEndedBeforeTheWindow) {
    fail(19, kStart);
    fail(19, kStart + 10s);
    EXPECT_EQ(breaker_.state(kStart + 10s), State::kClosed);
    fail(1, kStart + 10s);
    EXPECT_EQ(breaker_.state(kStart + 10s), State::kOpen);
}

TEST_F(BreakerTest, IsNotKeptClosedByOldSuccesses) {
    succeed(1'000'000, kStart);
    fail(20, kStart + 10s);
    EXPECT_EQ(breaker_.state(kStart + 10s), State::kOpen);
}

TEST_F(BreakerTest, AllowsNothingForFiveSecondsAndThenOneProbe) {
    fail(20);
    EXPECT_FALSE(breaker_.allow(kStart));
    EXPECT_FALSE(breaker_.allow(kStart + 4'999ms));
    EXPECT_EQ(breaker_.state(kStart + 4'999ms), State::kOpen);
    EXPECT_EQ(breaker_.state(kStart + 5s), State::kHalfOpen);
    EXPECT_TRUE(breaker_.allow(kStart + 5s));
    EXPECT_FALSE(breaker_.allow(kStart + 5s));
    EXPECT_FALSE(breaker_.allow(kStart + 9'999ms));
    EXPECT_EQ(breaker_.state(kStart + 9'999ms), State::kHalfOpen);
}

TEST_F(BreakerTest, ClosesAfterASuccessfulProbeAndForgetsThePast) {
    fail(20);
    ASSERT_TRUE(breaker_.allow(kStart + 5s));
    breaker_.succeeded({.began = kStart + 5s, .ended = kStart + 6s});
    EXPECT_EQ(breaker_.state(kStart + 6s), State::kClosed);
    EXPECT_TRUE(breaker_.allow(kStart + 6s));
    EXPECT_TRUE(breaker_.allow(kStart + 6s));
    fail(19, kStart + 6s);
    EXPECT_EQ(breaker_.state(kStart + 6s), State::kClosed);
    fail(1, kStart + 6s);
    EXPECT_EQ(breaker_.state(kStart + 6s), State::kOpen);
}

TEST_F(BreakerTest, OpensForAnotherFiveSecondsAfterAFailedProbe) {
    fail(20);
    ASSERT_TRUE(breaker_.allow(kStart + 5s));
    breaker_.failed({.began = kStart + 5s, .ended = kStart + 6s});
    EXPECT_FALSE(breaker_.allow(kStart + 10'999ms));
    EXPECT_TRUE(breaker_.allow(kStart + 11s));
}

TEST_F(BreakerTest, AllowsAnotherProbeWhereTheResultOfTheFirstNeverComes) {
    fail(20);
    ASSERT_TRUE(breaker_.allow(kStart + 7s));
    EXPECT_FALSE(breaker_.allow(kStart + 11'999ms));
    EXPECT_TRUE(breaker_.allow(kStart + 12s));
    EXPECT_FALSE(breaker_.allow(kStart + 12s));
    // The one that was given up says nothing any more.
    breaker_.succeeded({.began = kStart + 7s, .ended = kStart + 13s});
    EXPECT_EQ(breaker_.state(kStart + 13s), State::kHalfOpen);
    breaker_.succeeded({.began = kStart + 12s, .ended = kStart + 13s});
    EXPECT_EQ(breaker_.state(kStart + 13s), State::kClosed);
}

TEST_F(BreakerTest, IgnoresResultsOfCallsThatBeganBeforeItOpened) {
    fail(20);
    breaker_.succeeded({.began = kStart, .ended = kStart + 1s});
    EXPECT_EQ(breaker_.state(kStart + 1s), State::kOpen);
    breaker_.succeeded({.began = kStart, .ended = kStart + 5s});
    EXPECT_EQ(breaker_.state(kStart + 5s), State::kHalfOpen);
    ASSERT_TRUE(breaker_.allow(kStart + 5s));
    breaker_.succeeded({.began = kStart, .ended = kStart + 5s});
    EXPECT_EQ(breaker_.state(kStart + 5s), State::kHalfOpen);
    breaker_.failed({.began = kStart, .ended = kStart + 6s});
    EXPECT_EQ(breaker_.state(kStart + 6s), State::kHalfOpen);
    breaker_.succeeded({.began = kStart + 5s, .ended = kStart + 7s});
    ASSERT_EQ(breaker_.state(kStart + 7s), State::kClosed);
    for (int i = 0; i < 100; ++i)
        breaker_.failed({.began = kStart, .ended = kStart + 8s});
    EXPECT_EQ(breaker_.state(kStart + 8s), State::kClosed);
}

TEST_F(BreakerTest, TrippingStartsTheTimerWhateverTheStateWas) {
    breaker_.trip(kStart);
    EXPECT_FALSE(breaker_.allow(kStart + 4'999ms));
    breaker_.trip(kStart + 4'999ms);
    EXPECT_FALSE(breaker_.allow(kStart + 9'998ms));
    ASSERT_TRUE(breaker_.allow(kStart + 9'999ms));
    breaker_.trip(kStart + 10s);
    breaker_.succeeded({.began = kStart + 9'999ms, .ended = kStart + 11s});
    EXPECT_FALSE(breaker_.allow(kStart + 14'999ms));
    EXPECT_TRUE(breaker_.allow(kStart + 15s));
}

TEST_F(BreakerTest, ResettingClosesItAndForgetsThePast) {
    fail(20);
    breaker_.reset();
    EXPECT_EQ(breaker_.state(kStart), State::kClosed);
    fail(19);
    breaker_.reset();
    fail(19);
    EXPECT_TRUE(breaker_.allow(kStart));
    EXPECT_EQ(breaker_.state(kStart), State::kClosed);
}

TEST_F(BreakerTest, ResettingForgetsTheProbe) {
    fail(20);
    ASSERT_TRUE(breaker_.allow(kStart + 5s));
    breaker_.reset();
    breaker_.failed({.began = kStart + 5s, .ended = kStart + 6s});
    EXPECT_EQ(breaker_.state(kStart + 6s), State::kClosed);
}

TEST(BreakerConfig, HoldsWhatItSays) {
    Breaker breaker({.least_calls = 2,
                     .failed_percent = 100,
                     .window = 100ms,
                     .open_for = 7ms,
                     .probe_timeout = 3ms});
    breaker.failed({.began = kStart, .ended = kStart});
    breaker.failed({.began = kStart + 100ms, .ended = kStart + 100ms});
    EXPECT_EQ(breaker.state(kStart + 100ms), State::kClosed);
    breaker.failed({.began = kStart + 101ms, .ended = kStart + 101ms});
    EXPECT_EQ(breaker.state(kStart + 107ms), State::kOpen);
    EXPECT_TRUE(breaker.allow(kStart + 108ms));
    EXPECT_FALSE(breaker.allow(kStart + 110ms));
    EXPECT_TRUE(breaker.allow(kStart + 111ms));
}

// What the breaker should do, said once more and as plainly as possible: every call and every
// result is kept for ever.
class Model {
  public:
    struct Result {
        Time ended;
        bool failed;
    };

    State state(Time now) const {
        if (!open_) return State::kClosed;
        return now - opened_ < 5s ? State::kOpen : State::kHalfOpen;
    }
    bool may_begin(Time now) const {
        if (state(now) == State::kClosed) return true;
        return state(now) == State::kHalfOpen && (!probing_ || now - probe_ >= 5s);
    }
    void begin(Time now) {
        if (state(now) != State::kHalfOpen) return;
        probing_ = true;
        probe_ = now;
    }
    void end(Time began, const Result& result) {
        if (open_ && (!probing_ || began != probe_)) return;
        if (open_ && !result.failed) return close(result.ended);
        if (open_) return open(result.ended);
        if (began < closed_) return;
        results_.push_back(result);
        const auto recent = [&](const Result& one) {
            return slot(one.ended) > slot(result.ended) - 10;
        };
        const auto bad = [&](const Result& one) { return recent(one) && one.failed; };
        const auto calls = std::ranges::count_if(results_, recent);
        if (calls >= 20 && 2 * std::ranges::count_if(results_, bad) >= calls) open(result.ended);
    }
    void open(Time now) {
        open_ = true;
        opened_ = now;
        probing_ = false;
    }
    void close(Time now) {
        open_ = probing_ = false;
        closed_ = now;
        results_.clear();
    }

  private:
    static std::int64_t slot(Time time) { return time.time_since_epoch() / 1s; }

    bool open_ = false;
    bool probing_ = false;
    Time opened_, probe_, closed_;
    std::vector<Result> results_;
};

class BreakerAgainstModel : public testing::TestWithParam<std::uint64_t> {
  protected:
    bool chance(int percent) { return uniform(0, 99) < percent; }
    int uniform(int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(random_);
    }

    void pass_time() {
        if (chance(40)) return;
        now_ += std::chrono::milliseconds(chance(2) ? uniform(0, 12'000) : uniform(0, 300));
    }
    void try_to_begin() {
        const bool allowed = breaker_.allow(now_);
        ASSERT_EQ(allowed, model_.may_begin(now_));
        if (!allowed) return;
        model_.begin(now_);
        underway_.push_back(now_);
    }
    void end_one() {
        if (underway_.empty()) return;
        const auto one = underway_.begin() + uniform(0, static_cast<int>(underway_.size()) - 1);
        const Time began = *one;
        underway_.erase(one);
        if (chance(1)) return;  // its result never comes
        const bool failed = chance(failing_percent_);
        const Breaker::Call call{.began = began, .ended = now_};
        failed ? breaker_.failed(call) : breaker_.succeeded(call);
        model_.end(began, {.ended = now_, .failed = failed});
    }
    void interfere() {
        if (chance(50)) {
            breaker_.trip(now_);
            model_.open(now_);
        } else {
            // The breaker reads no clock: reset() takes effect as of the call before.
            (void)breaker_.allow(now_);
            breaker_.reset();
            model_.close(now_);
        }
    }

    std::mt19937_64 random_{GetParam()};
    Breaker breaker_;
    Model model_;
    Time now_ = kStart;
    std::vector<Time> underway_;
    int failing_percent_ = 50;
};

TEST_P(BreakerAgainstModel, DoesTheSame) {
    std::array<int, 3> seen{};
    for (int step = 0; step < 20'000; ++step) {
        pass_time();
        if (chance(1)) failing_percent_ = uniform(0, 4) * 25;
        ASSERT_NO_FATAL_FAILURE(try_to_begin());
        if (chance(90)) end_one();
        if (uniform(0, 2'999) == 0) interfere();
        ASSERT_EQ(breaker_.state(now_), model_.state(now_)) << "at step " << step;
        ++seen.at(static_cast<std::size_t>(breaker_.state(now_)));
    }
    for (const int times : seen)
        EXPECT_GT(times, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BreakerAgainstModel, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace sluice
