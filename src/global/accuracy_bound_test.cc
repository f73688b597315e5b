#include "global/accuracy_bound.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

AccuracyInput input(std::uint64_t regions, Count limit, std::uint64_t per_second, Duration delay) {
    return {.regions = regions,
            .limit = limit,
            .duration = seconds{60},
            .rate_per_day = Wide{per_second} * 86'400,
            .delay = delay,
            .most_cost = 1};
}

TEST(AccuracyBoundTest, OneRegionExceedsNothing) {
    EXPECT_EQ(over_admission_bound(input(1, 1'000, 500, seconds{1})), 0U);
}

// 9 x (5/s x 0.2 s + 1) = 18, a third more is 24; 10 x 5 x 0.2 = 10 is below a quarter of 1,000.
TEST(AccuracyBoundTest, IsFourThirdsOfWhatOthersSpendWithinTheDelay) {
    EXPECT_EQ(over_admission_bound(input(10, 1'000, 5, milliseconds{200})), 24U);
}

// 9 x (50/s x 1 s + 1) = 459; with half of an even split each, 9 x 50 = 450, it is 909.
TEST(AccuracyBoundTest, AddsHalfOfAnEvenSplitWhereTheLimitIsSpentWithinFewDelays) {
    EXPECT_EQ(over_admission_bound(input(10, 1'000, 50, seconds{1})), 909U);
}

TEST(AccuracyBoundTest, TheLargestNumbersSaturate) {
    AccuracyInput largest = input(1'024, kMaxCount, 1'000'000'000, kMaxDuration);
    largest.most_cost = kMaxCount;
    EXPECT_EQ(over_admission_bound(largest), kMaxCount);
}

TEST(DelayTest, AWindowIsFlushedThenPublishedAndImportedOrAnnounced) {
    EXPECT_EQ(delay_between_regions({.duration = seconds{60},
                                     .round_trip = milliseconds{100},
                                     .has_bus = true,
                                     .has_peers = true}),
              milliseconds{1'150});
    EXPECT_EQ(delay_between_regions({.duration = seconds{60},
                                     .round_trip = milliseconds{100},
                                     .has_bus = false,
                                     .has_peers = false}),
              milliseconds{12'530});
}

}  // namespace
}  // namespace sluice
