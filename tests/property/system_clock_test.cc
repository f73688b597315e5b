// Decisions by the system's clock: a retry at `retry_at` passes, though most decisions are made by
// a clock that lags.
#include <sluice/limiter.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::chrono::milliseconds kSecond{1'000};

UnixTime now() {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

// Returns in the millisecond that `time` names, or as soon after it as the machine allows.
void wait_until(UnixTime time) {
    while (now() < time) {
    }
}

class SystemClock : public testing::Test {
  protected:
    Request request(std::int64_t limit, std::int64_t cost = 1) const {
        return {.name_space = "n",
                .identifier = "i",
                .limit = limit,
                .duration = kSecond,
                .cost = cost};
    }

    Limiter limiter_ = std::move(Limiter::create({.region = "r"}).value());
};

TEST_F(SystemClock, PassesARetryAtRetryAt) {
    for (int i = 0; i < 2; ++i) {
        while (limiter_.limit(request(3))->passed) {
        }
        const auto denied = limiter_.limit(request(3));
        if (denied->passed) continue;  // the window moved in between
        ASSERT_TRUE(denied->retry_at);
        wait_until(*denied->retry_at);
        EXPECT_TRUE(limiter_.limit(request(3))->passed) << "round " << i;
    }
}

TEST_F(SystemClock, PassesABatchRetriedAtRetryAt) {
    for (int i = 0; i < 2; ++i) {
        const Request batch[] = {request(3, 2), request(3, 1)};
        while (limiter_.limit_many(batch)->passed) {
        }
        const auto denied = limiter_.limit_many(batch);
        if (denied->passed) continue;  // the window moved in between
        UnixTime retry_at{};
        for (const Decision& decision : denied->decisions)
            if (decision.retry_at) retry_at = std::max(retry_at, *decision.retry_at);
        wait_until(retry_at);
        EXPECT_TRUE(limiter_.limit_many(batch)->passed) << "round " << i;
    }
}

TEST_F(SystemClock, DecidesInTheWindowOfTheExactClock) {
    for (int i = 0; i < 2; ++i) {
        const UnixTime boundary = limiter_.limit(request(1'000'000))->reset_at;
        wait_until(boundary);
        EXPECT_GT(limiter_.limit(request(1'000'000))->reset_at, boundary) << "round " << i;
    }
}

}  // namespace
}  // namespace sluice
