#include "global/policy.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(PolicyTest, ARegionPublishesFromHalfOfTheLimitOn) {
    EXPECT_FALSE(
        publish_from_half({.regional = 4, .limit = 10, .has_foreign = false, .last_pushed = 0}));
    EXPECT_TRUE(
        publish_from_half({.regional = 5, .limit = 10, .has_foreign = false, .last_pushed = 0}));
    EXPECT_FALSE(
        publish_from_half({.regional = 5, .limit = 11, .has_foreign = false, .last_pushed = 0}));
}

TEST(PolicyTest, ACellThatOtherRegionsUseIsPublishedHoweverSmall) {
    EXPECT_TRUE(
        publish_from_half({.regional = 1, .limit = 1'000, .has_foreign = true, .last_pushed = 0}));
}

TEST(PolicyTest, ACountIsPublishedOnce) {
    EXPECT_FALSE(
        publish_from_half({.regional = 7, .limit = 10, .has_foreign = true, .last_pushed = 7}));
    EXPECT_TRUE(
        publish_from_half({.regional = 8, .limit = 10, .has_foreign = true, .last_pushed = 7}));
    EXPECT_FALSE(
        publish_from_half({.regional = 0, .limit = 0, .has_foreign = true, .last_pushed = 0}));
}

TEST(PolicyTest, TheLargestNumbersAreComparedExactly) {
    EXPECT_TRUE(publish_from_half({.regional = kMaxCount / 2 + 1,
                                   .limit = kMaxCount,
                                   .has_foreign = false,
                                   .last_pushed = 0}));
    EXPECT_FALSE(publish_from_half(
        {.regional = kMaxCount / 2, .limit = kMaxCount, .has_foreign = false, .last_pushed = 0}));
}

TEST(PolicyTest, TheOneInUseComesFirst) {
    EXPECT_EQ(publish_policies().front().policy, &publish_from_half);
}

}  // namespace
}  // namespace sluice
