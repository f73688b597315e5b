// What Replay hands out, and what it makes of the answers.
#include "regional/replay.h"

#include <string>

#include <gtest/gtest.h>

#include "counter/epoch.h"

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};
constexpr Sequence kNow = 100;

class ReplayTest : public testing::Test {
  protected:
    // The entry of `identifier` after `cost` was spent in it.
    Entry& spend(std::string_view identifier, Count cost, Sequence sequence = kNow) {
        const Request request{
            .workspace = "w", .name_space = "n", .identifier = identifier, .duration = kMinute};
        const EpochPin pin;
        Instant at{};
        Entry& entry = table_->entry_for(table_->key(request), start_of(sequence, kMinute), at);
        entry.admitted(sequence).add(sequence, cost);
        table_->settle(entry, sequence, cost, request);
        return entry;
    }
    std::vector<CellComponent> next(Sequence sequence = kNow) {
        return replay_.next(start_of(sequence, kMinute));
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 10'000, .sharing = Sharing::kShared, .seed = 1});
    Replay replay_{*table_};
};

TEST_F(ReplayTest, HasNothingToTellWhereNothingWasSpent) {
    EXPECT_TRUE(next().empty());
}

TEST_F(ReplayTest, TellsACellOnceHoweverOftenItChanged) {
    for (int i = 0; i < 1'000; ++i)
        spend("a", 2);
    const auto batch = next();
    ASSERT_EQ(batch.size(), 1U);
    EXPECT_EQ(batch[0].own, 2'000U);
    EXPECT_EQ(batch[0].cell.identifier, "a");
    EXPECT_EQ(batch[0].cell.sequence, kNow);
}

TEST_F(ReplayTest, HasOneBatchUnderwayAndKeepsWhatChangesMeanwhileForTheNext) {
    spend("a", 1);
    ASSERT_EQ(next().size(), 1U);
    spend("a", 1);
    spend("b", 1);
    EXPECT_TRUE(next().empty());
    const CellTotals landed{.total = 1, .own = 1};
    replay_.landed({&landed, 1});
    EXPECT_EQ(next().size(), 2U);
}

TEST_F(ReplayTest, IsQuietAfterAllHasLanded) {
    spend("a", 1);
    ASSERT_EQ(next().size(), 1U);
    const CellTotals landed{.total = 1, .own = 1};
    replay_.landed({&landed, 1});
    EXPECT_TRUE(next().empty());
}

TEST_F(ReplayTest, TellsAgainWhatHasFailed) {
    spend("a", 3);
    ASSERT_EQ(next().size(), 1U);
    replay_.failed();
    const auto again = next();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].own, 3U);
}

TEST_F(ReplayTest, MergesWhatTheOthersSpent) {
    const Entry& entry = spend("a", 3);
    ASSERT_EQ(next().size(), 1U);
    const CellTotals landed{.total = 10, .own = 3};
    replay_.landed({&landed, 1});
    EXPECT_EQ(entry.foreign(kNow), 7U);
    EXPECT_EQ(entry.spent(kNow), 10U);
}

// An origin that lost its counts answers less than before.
TEST_F(ReplayTest, NeverForgetsWhatTheOthersSpent) {
    const Entry& entry = spend("a", 3);
    ASSERT_EQ(next().size(), 1U);
    const CellTotals before{.total = 10, .own = 3};
    replay_.landed({&before, 1});
    spend("a", 1);
    ASSERT_EQ(next().size(), 1U);
    const CellTotals emptied{.total = 4, .own = 4};
    replay_.landed({&emptied, 1});
    EXPECT_EQ(entry.foreign(kNow), 7U);
}

TEST_F(ReplayTest, TellsThePreviousCellToo) {
    spend("a", 1, kNow - 1);
    spend("a", 2, kNow);
    const auto batch = next();
    ASSERT_EQ(batch.size(), 2U);
    EXPECT_EQ(batch[0].own + batch[1].own, 3U);
}

TEST_F(ReplayTest, DoesNotTellOfDeadCells) {
    spend("a", 1);
    EXPECT_TRUE(next(kNow + 2).empty());
    EXPECT_TRUE(next(kNow + 2).empty());
}

TEST_F(ReplayTest, SendsABoundedBatch) {
    constexpr std::size_t kKeys = 2'000;
    for (std::size_t i = 0; i < kKeys; ++i)
        spend("key " + std::to_string(i), 1);
    std::size_t told = 0;
    for (auto batch = next(); !batch.empty(); batch = next()) {
        EXPECT_LE(batch.size(), Replay::kBatchCells);
        told += batch.size();
        replay_.landed(std::vector<CellTotals>(batch.size(), {.total = 1, .own = 1}));
    }
    EXPECT_EQ(told, kKeys);
}

TEST_F(ReplayTest, LeavesNothingBehindWhenItIsDestroyed) {
    for (int i = 0; i < 1'000; ++i)
        spend("key " + std::to_string(i), 1);
    {
        Replay other(*table_);
        ASSERT_FALSE(other.next(start_of(kNow, kMinute)).empty());
    }
    std::size_t told = 0;
    for (auto batch = next(); !batch.empty(); batch = next()) {
        told += batch.size();
        replay_.landed(std::vector<CellTotals>(batch.size(), {.total = 1, .own = 1}));
    }
    EXPECT_EQ(told, 1'000U);
}

}  // namespace
}  // namespace sluice
