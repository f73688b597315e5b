// Debits among ordinary requests: the limiter and the naive model give the same decisions.
#include <sluice/limiter.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "model/history.h"
#include "model/naive_limiter.h"

namespace sluice::model {
namespace {

constexpr std::uint64_t kSeeds = 2'000;
constexpr int kCalls = 60;

// Small numbers, so that limits are exceeded by a little and by much; now and then the largest.
class Calls {
  public:
    explicit Calls(std::uint64_t seed) : random_(seed) {}

    bool is_debit() { return pick(0, 2) == 0; }
    UnixTime next_time() {
        now_ += pick(0, 9) == 0 ? pick(0, 30'000) : pick(0, 900);
        if (pick(0, 19) == 0) now_ -= pick(0, 3'000);
        now_ = std::max<std::int64_t>(now_, 0);
        return UnixTime{std::chrono::milliseconds{now_}};
    }
    Ask ask() {
        const std::int64_t cost = pick(0, 60) == 0 ? kMaxNumber : pick(0, 12);
        return {.key = static_cast<int>(pick(0, 2)),
                .limit = pick(0, 10) == 0 ? kMaxNumber : pick(0, 20),
                .duration = pick(0, 1) == 0 ? 1'000 : 2'500,
                .cost = cost};
    }

  private:
    std::int64_t pick(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution(least, most)(random_);
    }
    std::mt19937_64 random_;
    std::int64_t now_ = 1'000'000;
};

void expect_equal(const Decision& decision, const Decision& expected, const Ask& ask) {
    EXPECT_EQ(decision.passed, expected.passed) << ask;
    EXPECT_EQ(decision.remaining, expected.remaining) << ask;
    EXPECT_EQ(decision.reset_at, expected.reset_at) << ask;
    EXPECT_EQ(decision.retry_at, expected.retry_at) << ask;
}

TEST(Debit, AgreesWithTheModelAmongOtherRequests) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        Calls calls(seed);
        Limiter limiter = fresh_limiter();
        NaiveLimiter model;
        for (int i = 0; i < kCalls; ++i) {
            const UnixTime now = calls.next_time();
            const Ask ask = calls.ask();
            const Request request = request_of(ask);
            const bool is_debit = calls.is_debit();
            const auto decision =
                is_debit ? limiter.debit(request, now) : limiter.limit(request, now);
            const auto expected = is_debit ? model.debit(request, now) : model.limit(request, now);
            ASSERT_TRUE(decision && expected);
            expect_equal(*decision, *expected, ask);
            ASSERT_FALSE(testing::Test::HasFailure())
                << "seed " << seed << ", call " << i << (is_debit ? ", a debit" : "");
        }
    }
}

}  // namespace
}  // namespace sluice::model
