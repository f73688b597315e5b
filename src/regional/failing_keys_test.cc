#include "regional/failing_keys.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr FailingKeys::Time kNow{};

TEST(FailingKeys, PausesGrowToAMinute) {
    FailingKeys keys;
    EXPECT_FALSE(keys.is_paused(1, kNow));
    FailingKeys::Time now = kNow;
    for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
        EXPECT_EQ(keys.failed(1, now), now + pause);
        EXPECT_TRUE(keys.is_paused(1, now + pause - 1ms));
        EXPECT_FALSE(keys.is_paused(1, now + pause));
        now += pause;
    }
    EXPECT_FALSE(keys.is_paused(2, now - 1ms));
}

TEST(FailingKeys, AnAnswerEndsThePause) {
    FailingKeys keys;
    keys.failed(1, kNow);
    keys.failed(1, kNow);
    EXPECT_TRUE(keys.is_failing(1));
    keys.answered(1);
    EXPECT_FALSE(keys.is_failing(1));
    EXPECT_EQ(keys.failed(1, kNow), kNow + 1s);
}

TEST(FailingKeys, TheirNumberIsBounded) {
    FailingKeys keys;
    for (std::uint64_t hash = 0; hash < FailingKeys::kMost; ++hash)
        keys.failed(hash, kNow);
    EXPECT_EQ(keys.failed(FailingKeys::kMost, kNow), kNow + 1s);
    EXPECT_FALSE(keys.is_failing(FailingKeys::kMost));
    keys.failed(FailingKeys::kMost, kNow + 1s);
    EXPECT_TRUE(keys.is_failing(FailingKeys::kMost));
    EXPECT_FALSE(keys.is_failing(0));
}

}  // namespace
}  // namespace sluice
