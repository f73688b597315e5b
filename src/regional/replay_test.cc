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
            .workspace = "w", .name_space = "n", .identifier = identifier, .duration = duration_};
        const EpochPin pin;
        Instant at{};
        Entry& entry = table_->entry_for(table_->key(request), start_of(sequence, duration_), at);
        entry.admitted(sequence).add(sequence, cost);
        table_->settle(entry, sequence, cost, request);
        return entry;
    }
    // What is told next, less the questions after cells in which nothing was spent.
    std::vector<CellComponent> next(UnixTime heard = UnixTime::min(), UnixTime now = UnixTime{}) {
        std::vector<CellComponent> told = replay_.next(now, heard, aim_);
        if (!told.empty()) batch_ = told;
        std::erase_if(told, [](const CellComponent& component) { return component.own == 0; });
        return told;
    }
    // Answers the last batch: all that others spent, they spent in the current window.
    void land(Count others = 0) {
        std::vector<CellAnswer> answers;
        for (const CellComponent& told : batch_) {
            const Count theirs = told.cell.sequence == kNow ? others : 0;
            answers.emplace_back(CellTotals{.total = told.own + theirs, .own = told.own});
        }
        replay_.answered(answers);
    }
    void fail() {
        replay_.answered(std::vector<CellAnswer>(batch_.size()));
        EXPECT_TRUE(replay_.next(UnixTime{}).empty()) << "it is set aside";
        replay_.retry();
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 10'000, .sharing = Sharing::kShared, .seed = 1});
    Replay replay_{*table_};
    std::vector<CellComponent> batch_;
    Duration duration_ = kMinute;
    Telling::Aim aim_ = Telling::Aim::kTell;
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
    land();
    EXPECT_EQ(next().size(), 2U);
}

TEST_F(ReplayTest, IsQuietAfterAllHasLanded) {
    spend("a", 1);
    ASSERT_EQ(next().size(), 1U);
    land();
    EXPECT_TRUE(next().empty());
}

TEST_F(ReplayTest, TellsAgainWhatHasFailed) {
    spend("a", 3);
    ASSERT_EQ(next().size(), 1U);
    fail();
    const auto again = next();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].own, 3U);
}

TEST_F(ReplayTest, MergesWhatTheOthersSpent) {
    const Entry& entry = spend("a", 3);
    ASSERT_EQ(next().size(), 1U);
    land(7);
    EXPECT_EQ(entry.foreign(kNow), 7U);
    EXPECT_EQ(entry.spent(kNow), 10U);
}

// An origin that lost its counts answers less than before.
TEST_F(ReplayTest, NeverForgetsWhatTheOthersSpent) {
    const Entry& entry = spend("a", 3);
    ASSERT_EQ(next().size(), 1U);
    land(7);
    spend("a", 1);
    ASSERT_EQ(next().size(), 1U);
    land(0);
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
    spend("a", 1).note_use(1, start_of(kNow + 2, kMinute));
    EXPECT_TRUE(next().empty());
    EXPECT_TRUE(batch_.empty());
}

TEST_F(ReplayTest, DoesNotTellOfCellsThatDiedSinceTheLastRequest) {
    spend("a", 1);
    EXPECT_TRUE(replay_.next(start_of(kNow + 2, kMinute)).empty());
    EXPECT_TRUE(next().empty()) << "nothing is left to tell";
}

TEST_F(ReplayTest, TellsHowLongACellStillMatters) {
    spend("a", 1).note_use(1, start_of(kNow, kMinute) + Duration{20'000});
    const auto batch = next();
    ASSERT_EQ(batch.size(), 1U);
    EXPECT_EQ(batch[0].lifetime, Duration{100'000});
}

TEST_F(ReplayTest, RefreshesWhatItTellsOf) {
    const UnixTime then = start_of(kNow, kMinute) + Duration{20'000};
    Entry& entry = spend("a", 1);
    entry.note_use(1, then);
    next();
    EXPECT_EQ(batch_.size(), 2U) << "the previous cell is asked for";
    land();
    EXPECT_EQ(entry.refreshed_at(), then);
    spend("a", 1).note_use(1, then + Duration{4'000});
    next();
    EXPECT_EQ(batch_.size(), 1U) << "the previous cell was heard of lately";
    land();
    EXPECT_EQ(entry.refreshed_at(), then + Duration{4'000});
    spend("a", 1).note_use(1, then + Duration{5'000});
    next();
    EXPECT_EQ(batch_.size(), 2U) << "others may have told late of what they spent in it";
    land();
    spend("a", 1).note_use(1, then + Duration{5'020});
    next();
    land();
    EXPECT_EQ(entry.refreshed_at(), then + Duration{5'000}) << "too little to note";
}

// Where the time is known though nobody asks. Nothing is heard of a window that began since.
TEST_F(ReplayTest, RefreshesAsOfTheTellingWithinTheWindowOfTheLastUse) {
    const UnixTime began = start_of(kNow, kMinute);
    Entry& entry = spend("a", 1);
    entry.note_use(1, began + Duration{20'000});
    next(began + Duration{23'000});
    land();
    EXPECT_EQ(entry.refreshed_at(), began + Duration{23'000});
    spend("a", 1).note_use(1, began + Duration{24'000});
    next(began + kMinute + Duration{3'000});
    land();
    EXPECT_EQ(entry.refreshed_at(), began + kMinute - Duration{1});
}

TEST_F(ReplayTest, AsksForThePreviousCellSeldomWhereTheLimitIsFar) {
    const UnixTime then = start_of(kNow, kMinute) + Duration{6'000};
    spend("a", 1).note_use(1'000'000, then);
    next();
    EXPECT_EQ(batch_.size(), 2U);
    land();
    spend("a", 1).note_use(1'000'000, then + Duration{50'000});
    next();
    EXPECT_EQ(batch_.size(), 1U);
    land();
}

class ReplayOfTheCellBefore : public ReplayTest {
  protected:
    // At 6 seconds of the window, and landed.
    void SetUp() override {
        duration_ = kHour;
        spend("a", 3, kNow - 1);
        spend("a", 1).note_use(kFarLimit, kThen);
        ASSERT_EQ(next().size(), 2U);
        land();
    }

    static constexpr Count kFarLimit = 1'000'000;
    static constexpr Duration kHour{3'600'000};
    static constexpr UnixTime kThen = start_of(kNow, kHour) + Duration{6'000};
};

TEST_F(ReplayOfTheCellBefore, TellsItOnce) {
    spend("a", 1).note_use(kFarLimit, kThen + Duration{4'000});
    next();
    ASSERT_EQ(batch_.size(), 1U);
    EXPECT_EQ(batch_[0].cell.sequence, kNow);
    EXPECT_TRUE(batch_[0].has_lifetime);
}

TEST_F(ReplayOfTheCellBefore, TellsItWhenItHasChanged) {
    spend("a", 2, kNow - 1).note_use(kFarLimit, kThen + Duration{4'000});
    next();
    ASSERT_EQ(batch_.size(), 2U);
    EXPECT_EQ(batch_[0].own, 5U);
    land();
    spend("a", 1).note_use(kFarLimit, kThen + Duration{8'000});
    EXPECT_EQ(next().size(), 1U);
}

TEST_F(ReplayOfTheCellBefore, TellsItAgainWhenItsTellingFailed) {
    spend("a", 2, kNow - 1).note_use(kFarLimit, kThen + Duration{4'000});
    ASSERT_EQ(next().size(), 2U);
    fail();
    EXPECT_EQ(next().size(), 2U);
}

TEST_F(ReplayOfTheCellBefore, TellsItAgainToAnOriginThatHasForgotten) {
    Table::Walk walk;
    ASSERT_TRUE(table_->list_again(walk, 1'000, kThen));
    next();
    ASSERT_EQ(batch_.size(), 2U);
    EXPECT_EQ(batch_[0].own, 3U);
}

TEST_F(ReplayOfTheCellBefore, TellsItAgainNowAndThen) {
    spend("a", 1).note_use(kFarLimit, kThen + Duration{59'999});
    ASSERT_EQ(next().size(), 1U);
    land();
    spend("a", 1).note_use(kFarLimit, kThen + Duration{60'020});
    next();
    ASSERT_EQ(batch_.size(), 2U);
    EXPECT_FALSE(batch_[1].has_lifetime);
    land();
    // Where it is not far, much sooner.
    spend("a", 1).note_use(1, kThen + Duration{65'040});
    EXPECT_EQ(next().size(), 2U);
}

TEST_F(ReplayOfTheCellBefore, NothingIsToldByOneThatOnlyHears) {
    aim_ = Telling::Aim::kHear;
    Entry& entry = spend("a", 1);
    entry.note_use(kFarLimit, kThen + Duration{4'000});
    EXPECT_TRUE(next().empty());
    ASSERT_EQ(batch_.size(), 1U);
    land(7);
    EXPECT_EQ(entry.foreign(kNow), 7U);
    EXPECT_TRUE(entry.is_untold());
    aim_ = Telling::Aim::kTell;
    ASSERT_EQ(next().size(), 1U);
    EXPECT_EQ(batch_[0].own, 2U);
    land();
    EXPECT_FALSE(entry.is_untold());
}

TEST_F(ReplayOfTheCellBefore, AllIsToldOfAnEntryOfWhichMoreIsDue) {
    aim_ = Telling::Aim::kHear;
    spend("a", 1, kNow - 1).note_use(kFarLimit, kThen + Duration{4'000});
    EXPECT_EQ(next().size(), 2U) << "the cell before has changed";
    land();
    spend("a", 1).note_use(100, kThen + Duration{4'000});
    EXPECT_EQ(next().size(), 1U) << "the limit is not far";
    land();
    spend("a", 1).note_use(kFarLimit, kThen + Duration{4'000});
    const auto told = next(UnixTime::min(), start_of(kNow + 1, kHour));
    ASSERT_EQ(told.size(), 1U) << "the window is over";
    EXPECT_EQ(told[0].cell.sequence, kNow);
}

TEST_F(ReplayTest, TellsAgainOnlyWhatWasNotAnswered) {
    spend("a", 3);
    spend("b", 4);
    ASSERT_EQ(next().size(), 2U);
    std::vector<CellAnswer> answers;
    for (const CellComponent& told : batch_) {
        answers.emplace_back();
        if (told.cell.identifier == "b") answers.back() = {.total = told.own, .own = told.own};
    }
    replay_.answered(answers);
    EXPECT_FALSE(replay_.has_told_all());
    EXPECT_TRUE(next().empty());
    replay_.retry();
    const auto again = next();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].cell.identifier, "a");
}

TEST_F(ReplayTest, AKeyThatWasEvictedComesBackAsAnotherOwner) {
    const auto tiny = *Table::create({.max_keys = 1, .sharing = Sharing::kShared, .seed = 1});
    Replay replay(*tiny);
    const auto spend_in_tiny = [&](std::string_view identifier) {
        const Request request{
            .workspace = "w", .name_space = "n", .identifier = identifier, .duration = kMinute};
        const EpochPin pin;
        Instant at{};
        Entry& entry = tiny->entry_for(tiny->key(request), start_of(kNow, kMinute), at);
        entry.admitted(kNow).add(kNow, 1);
        tiny->settle(entry, kNow, 1, request);
        const auto batch = replay.next(UnixTime{});
        replay.answered(std::vector<CellAnswer>(batch.size(), CellTotals{1, 1}));
        return batch.back().incarnation;
    };
    const Incarnation first = spend_in_tiny("a");
    EXPECT_EQ(first, 0U);
    for (int i = 0; tiny->tally().evicted.load() == 0; ++i)
        spend_in_tiny("other " + std::to_string(i));
    EXPECT_NE(spend_in_tiny("a"), first);
}

TEST_F(ReplayTest, SendsABoundedBatch) {
    constexpr std::size_t kKeys = 2'000;
    for (std::size_t i = 0; i < kKeys; ++i)
        spend("key " + std::to_string(i), 1);
    std::size_t told = 0;
    for (auto batch = next(); !batch.empty(); batch = next()) {
        EXPECT_LE(batch_.size(), Replay::kBatchCells);
        told += batch.size();
        land();
    }
    EXPECT_EQ(told, kKeys);
}

TEST_F(ReplayTest, LeavesNothingBehindWhenItIsDestroyed) {
    for (int i = 0; i < 1'000; ++i)
        spend("key " + std::to_string(i), 1);
    {
        Replay other(*table_);
        ASSERT_FALSE(other.next(UnixTime{}).empty());
    }
    std::size_t told = 0;
    for (auto batch = next(); !batch.empty(); batch = next()) {
        told += batch.size();
        land();
    }
    EXPECT_EQ(told, 1'000U);
}

}  // namespace
}  // namespace sluice
