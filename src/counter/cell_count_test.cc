#include "counter/cell_count.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(LapCount, KnowsItsSequenceAndItsCount) {
    const LapCount count(1'234'567, kMaxCount);
    EXPECT_TRUE(count.belongs_to(1'234'567));
    EXPECT_EQ(count.count(), kMaxCount);
    EXPECT_FALSE(count.belongs_to(1'234'567 + kRingSize));
    EXPECT_FALSE(count.belongs_to(1'234'567 - kRingSize));
}

TEST(LapCount, OrdersSequencesAcrossTheWrapOfItsLap) {
    for (const Sequence sequence :
         {Sequence{0}, Sequence{8'188}, Sequence{8'192}, Sequence{28'401'234'567}}) {
        for (const Count count : {Count{0}, Count{1}, kMaxCount}) {
            const LapCount read(sequence, count);
            EXPECT_EQ(read.laps_ahead_of(sequence), 0);
            EXPECT_EQ(read.laps_ahead_of(sequence + kRingSize), -1);
            EXPECT_EQ(read.laps_ahead_of(sequence - kRingSize), 1);
            EXPECT_EQ(read.laps_ahead_of(sequence + 4'000), -1'000);
            EXPECT_EQ(read.laps_ahead_of(sequence - 4'000), 1'000);
        }
    }
}

TEST(CellCount, RefusesEveryChangeForAnotherLap) {
    CellCount count;
    count.reset(40);
    EXPECT_TRUE(count.add(40, 5));
    const LapCount stale = count.load();
    count.reopen(stale, 44);
    EXPECT_EQ(count.of(44), 0U);
    EXPECT_EQ(count.of(40), 0U);
    EXPECT_FALSE(count.add(40, 1));
    EXPECT_FALSE(count.subtract(40, 1));
    EXPECT_FALSE(count.raise(40, 9));
    EXPECT_FALSE(count.add_to(stale, 1));
    EXPECT_EQ(count.of(44), 0U);
}

TEST(CellCount, MergesByMaximumAndSaturates) {
    CellCount count;
    count.reset(3);
    EXPECT_TRUE(count.raise(3, 7));
    EXPECT_TRUE(count.raise(3, 5));
    EXPECT_EQ(count.of(3), 7U);
    EXPECT_TRUE(count.add(3, kMaxCount));
    EXPECT_EQ(count.of(3), kMaxCount);
    EXPECT_TRUE(count.subtract(3, kMaxCount));
    EXPECT_EQ(count.of(3), 0U);
}

}  // namespace
}  // namespace sluice
