// What Refresh reads from the origin, for whom, and what it makes of the answers.
#include <string>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "regional/memory_origin.h"
#include "regional/refresh.h"

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};
constexpr Sequence kNow = 100;
constexpr UnixTime kTime = start_of(kNow, kMinute) + Duration{1'000};

// An origin whose answers wait until the test lets them go.
class SlowOrigin : public Origin {
  public:
    void start(OriginEvents) override {}
    void read(std::vector<CellQuestion> cells, Answered answered) override {
        reads.push_back(std::move(cells));
        answers.push_back(std::move(answered));
    }
    void raise(std::vector<CellComponent>, Answered) override {}
    void list(std::vector<CellName>, Listed) override {}
    std::string node() const override { return "slow"; }

    std::vector<std::vector<CellQuestion>> reads;
    std::vector<Answered> answers;
};

class RefreshTest : public testing::Test {
  protected:
    static Request request(std::string_view identifier) {
        return {.workspace = "w", .name_space = "n", .identifier = identifier, .duration = kMinute};
    }
    void ask(std::string_view identifier, UnixTime now = kTime) {
        refresh_.ask(request(identifier), now, [this](bool is_answered) {
            ++heard_;
            answered_ += is_answered ? 1 : 0;
        });
    }
    Entry& entry(std::string_view identifier) {
        const EpochPin pin;
        Instant at{};
        return table_->entry_for(table_->key(request(identifier)), kTime, at);
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 100, .sharing = Sharing::kShared, .seed = 1});
    SlowOrigin origin_;
    Refresh refresh_{*table_, origin_, Refresh::Region::kShared};
    int heard_ = 0;
    int answered_ = 0;
};

TEST_F(RefreshTest, ReadsBothCellsInOneCallHoweverManyAsk) {
    for (int i = 0; i < 32; ++i)
        ask("a");
    refresh_.send();
    ask("a");
    refresh_.send();
    ASSERT_EQ(origin_.reads.size(), 1U);
    ASSERT_EQ(origin_.reads[0].size(), 2U);
    EXPECT_EQ(origin_.reads[0][0].cell.sequence, kNow);
    EXPECT_EQ(origin_.reads[0][1].cell.sequence, kNow - 1);
    EXPECT_EQ(refresh_.reads(), 1U);
    origin_.answers[0]({CellTotals{.total = 7, .own = 0}, CellTotals{.total = 5, .own = 0}});
    EXPECT_EQ(heard_, 33);
    EXPECT_EQ(answered_, 33);
    EXPECT_EQ(entry("a").foreign(kNow), 7U);
    EXPECT_EQ(entry("a").foreign(kNow - 1), 5U);
    EXPECT_EQ(entry("a").refreshed_at(), kTime);
}

TEST_F(RefreshTest, ReadsAllKeysOfATurnInOneCall) {
    ask("a");
    ask("b");
    refresh_.send();
    ASSERT_EQ(origin_.reads.size(), 1U);
    EXPECT_EQ(origin_.reads[0].size(), 4U);
}

TEST_F(RefreshTest, ReadsAgainAfterTheFirstHasLanded) {
    ask("a");
    refresh_.send();
    origin_.answers[0]({CellTotals{}, CellTotals{}});
    ask("a");
    refresh_.send();
    EXPECT_EQ(origin_.reads.size(), 2U);
}

TEST_F(RefreshTest, OwnCountsAreNotTheOthers) {
    ask("a");
    refresh_.send();
    origin_.answers[0]({CellTotals{.total = 7, .own = 4}, CellTotals{.total = 5, .own = 5}});
    EXPECT_EQ(entry("a").foreign(kNow), 3U);
    EXPECT_EQ(entry("a").foreign(kNow - 1), 0U);
}

TEST_F(RefreshTest, AnOriginThatDoesNotAnswerLeavesTheEntryAsOldAsItWas) {
    ask("a");
    refresh_.send();
    origin_.answers[0]({CellTotals{.total = 7, .own = 0}, std::nullopt});
    EXPECT_EQ(heard_, 1);
    EXPECT_EQ(answered_, 0);
    EXPECT_EQ(entry("a").refreshed_at(), Entry::kNever);
}

TEST_F(RefreshTest, WhatTheOriginLostIsToldAgain) {
    entry("a").admitted(kNow).add(kNow, 3);
    table_->settle(entry("a"), kNow, 3, request("a"));
    const auto taken = table_->changed().take();
    ASSERT_TRUE(table_->changed().release(*taken.changed.at(0), Components(entry("a"))));
    ask("a");
    refresh_.send();
    origin_.answers[0]({CellTotals{.total = 1, .own = 1}, CellTotals{}});
    EXPECT_EQ(table_->changed().take().changed.size(), 1U);
}

TEST_F(RefreshTest, WhoAsksWhileAnAnswerIsHeardIsReadAnew) {
    refresh_.ask(request("a"), kTime, [this](bool) { ask("a"); });
    refresh_.send();
    origin_.answers[0]({CellTotals{}, CellTotals{}});
    refresh_.send();
    EXPECT_EQ(origin_.reads.size(), 2U);
}

TEST_F(RefreshTest, WhoWaitsIsToldWhenItGivesUp) {
    ask("a");
    refresh_.send();
    ask("b");
    refresh_.give_up();
    ask("c");
    EXPECT_EQ(heard_, 3);
    EXPECT_EQ(answered_, 0);
    origin_.answers[0]({CellTotals{}, CellTotals{}});
    EXPECT_EQ(heard_, 3);
}

TEST_F(RefreshTest, WhatNobodyElseWritesIsReadOnce) {
    Refresh exclusive(*table_, origin_, Refresh::Region::kExclusive);
    exclusive.ask(request("a"), kTime, [](bool) {});
    exclusive.send();
    origin_.answers[0]({CellTotals{}, CellTotals{}});
    EXPECT_EQ(entry("a").refreshed_at(), Entry::kAlways);
}

}  // namespace
}  // namespace sluice
