#include "global/policy.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// A lone region's use of a cell with a limit of 1,000 that ten regions share.
CellUse use_of(Count regional, Count last_pushed = 0) {
    return {.regional = regional,
            .limit = 1'000,
            .known = regional,
            .has_foreign = false,
            .last_pushed = last_pushed,
            .is_still = false,
            .regions = 10};
}

CellUse shared_use_of(Count regional, Count last_pushed, Count known) {
    CellUse use = use_of(regional, last_pushed);
    use.has_foreign = true;
    use.known = known;
    return use;
}

TEST(AdaptivePolicyTest, ALoneRegionPublishesFromHalfOfAnEvenSplitOfTheLimitOn) {
    EXPECT_EQ(publish_adaptively(use_of(49)), PublishTime::kNever);
    EXPECT_EQ(publish_adaptively(use_of(50)), PublishTime::kNow);
    // And again as often as it has grown by that, whatever is left.
    EXPECT_EQ(publish_adaptively(use_of(999, 950)), PublishTime::kNever);
    EXPECT_EQ(publish_adaptively(use_of(1'000, 950)), PublishTime::kNow);
}

TEST(AdaptivePolicyTest, RegionsThatKnowOfEachOtherPublishFromHalfOfTheirShareOfTheRestOn) {
    // 1,000 - 200 are left: a fourth of a tenth of that.
    EXPECT_EQ(publish_adaptively(shared_use_of(119, 100, 200)), PublishTime::kWithTick);
    EXPECT_EQ(publish_adaptively(shared_use_of(120, 100, 200)), PublishTime::kNow);
    // The less is left, the sooner.
    EXPECT_EQ(publish_adaptively(shared_use_of(109, 100, 600)), PublishTime::kWithTick);
    EXPECT_EQ(publish_adaptively(shared_use_of(110, 100, 600)), PublishTime::kNow);
    // The more regions, the sooner.
    CellUse use = shared_use_of(105, 100, 600);
    EXPECT_EQ(publish_adaptively(use), PublishTime::kWithTick);
    use.regions = 20;
    EXPECT_EQ(publish_adaptively(use), PublishTime::kNow);
}

TEST(AdaptivePolicyTest, EachUnitIsPublishedAtOnceWhenLittleOrNothingIsLeft) {
    for (const Count known : {961U, 999U, 1'000U, 5'000U})
        EXPECT_EQ(publish_adaptively(shared_use_of(101, 100, known)), PublishTime::kNow) << known;
    CellUse lone = use_of(1);
    lone.limit = 19;  // less than two for each region
    EXPECT_EQ(publish_adaptively(lone), PublishTime::kNow);
}

TEST(AdaptivePolicyTest, ACountIsPublishedOnce) {
    for (const Count last : {50U, 51U}) {
        CellUse use = shared_use_of(50, last, 1'000);
        use.is_still = true;
        EXPECT_EQ(publish_adaptively(use), PublishTime::kNever);
        use.has_foreign = false;
        EXPECT_EQ(publish_adaptively(use), PublishTime::kNever);
    }
    EXPECT_EQ(publish_adaptively(use_of(0)), PublishTime::kNever);
    CellUse none = use_of(0);
    none.limit = 0;
    EXPECT_EQ(publish_adaptively(none), PublishTime::kNever);
}

TEST(AdaptivePolicyTest, TheTickCarriesTheRemainderOfAPublishedCellThatHasStoppedGrowing) {
    CellUse use = use_of(51, 50);
    EXPECT_EQ(publish_adaptively(use), PublishTime::kNever);
    use.is_still = true;
    EXPECT_EQ(publish_adaptively(use), PublishTime::kWithTick);
    use.last_pushed = 0;
    use.regional = 49;
    EXPECT_EQ(publish_adaptively(use), PublishTime::kNever) << "it was never published";
}

TEST(AdaptivePolicyTest, TheLargestNumbersAreComparedExactly) {
    CellUse lone = use_of(kMaxCount / 4 - 1);
    lone.limit = kMaxCount;
    lone.regions = 2;
    EXPECT_EQ(publish_adaptively(lone), PublishTime::kNever);
    lone.regional = kMaxCount / 4;
    EXPECT_EQ(publish_adaptively(lone), PublishTime::kNow);

    CellUse shared = shared_use_of(kMaxCount / 2 + 1, kMaxCount / 2, kMaxCount - 16);
    shared.limit = kMaxCount;
    shared.regions = 2;  // from 2 on
    EXPECT_EQ(publish_adaptively(shared), PublishTime::kWithTick);
    ++shared.regional;
    EXPECT_EQ(publish_adaptively(shared), PublishTime::kNow);
}

// Of no cell is a larger count published later, or one of which less was published.
TEST(AdaptivePolicyTest, ItIsMonotonic) {
    for (const bool has_foreign : {false, true})
        for (const bool is_still : {false, true})
            for (Count last = 0; last < 60; ++last)
                for (Count regional = last + 1; regional < 120; ++regional) {
                    CellUse use = use_of(regional, last);
                    use.has_foreign = has_foreign;
                    use.is_still = is_still;
                    use.limit = 400;
                    const PublishTime time = publish_adaptively(use);
                    ++use.regional;
                    EXPECT_GE(publish_adaptively(use), time) << regional << ' ' << last;
                }
}

CellUse half_use(Count regional, Count limit, bool has_foreign, Count last_pushed) {
    return {.regional = regional,
            .limit = limit,
            .known = regional,
            .has_foreign = has_foreign,
            .last_pushed = last_pushed,
            .is_still = false,
            .regions = 2};
}

TEST(HalfPolicyTest, ARegionPublishesFromHalfOfTheLimitOnWithTheTick) {
    EXPECT_EQ(publish_from_half(half_use(4, 10, false, 0)), PublishTime::kNever);
    EXPECT_EQ(publish_from_half(half_use(5, 10, false, 0)), PublishTime::kWithTick);
    EXPECT_EQ(publish_from_half(half_use(5, 11, false, 0)), PublishTime::kNever);
    EXPECT_EQ(publish_from_quarter(half_use(3, 12, false, 0)), PublishTime::kWithTick);
    EXPECT_EQ(publish_from_quarter(half_use(2, 12, false, 0)), PublishTime::kNever);
    EXPECT_EQ(publish_always(half_use(1, 12, false, 0)), PublishTime::kWithTick);
}

TEST(HalfPolicyTest, ACellThatOtherRegionsUseIsPublishedHoweverSmallAndOnce) {
    EXPECT_EQ(publish_from_half(half_use(1, 1'000, true, 0)), PublishTime::kWithTick);
    EXPECT_EQ(publish_from_half(half_use(7, 10, true, 7)), PublishTime::kNever);
    EXPECT_EQ(publish_from_half(half_use(8, 10, true, 7)), PublishTime::kWithTick);
    EXPECT_EQ(publish_from_half(half_use(0, 0, true, 0)), PublishTime::kNever);
}

TEST(HalfPolicyTest, TheLargestNumbersAreComparedExactly) {
    EXPECT_EQ(publish_from_half(half_use(kMaxCount / 2 + 1, kMaxCount, false, 0)),
              PublishTime::kWithTick);
    EXPECT_EQ(publish_from_half(half_use(kMaxCount / 2, kMaxCount, false, 0)), PublishTime::kNever);
}

TEST(PolicyTest, TheOneInUseComesFirst) {
    EXPECT_EQ(publish_policies().front().policy, &publish_adaptively);
}

}  // namespace
}  // namespace sluice
