#include "global/hashed_name_cells.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "counter/epoch.h"

namespace sluice {
namespace {

using std::chrono::seconds;

constexpr UnixTime kNow{seconds{1'700'000'040}};
constexpr Duration kDuration{600'000};

class HashedNameCellsTest : public testing::Test {
  protected:
    static constexpr std::size_t kMaxKeys = 100;
    static constexpr std::size_t kMostCells = 10;

    static std::string identifier(int i) { return std::string(300, 'x') + std::to_string(i); }

    Entry& make(int i) {
        Instant at;
        const std::string text = identifier(i);
        const Request request{.name_space = "n", .identifier = text, .duration = kDuration};
        Entry& entry = table_->entry_for(table_->key(request), kNow, at);
        cells_.add(entry);
        return entry;
    }

    ImportedCell cell(int i, int windows_ahead = 0) const {
        return {.cell = stored_name({.workspace = "default",
                                     .name_space = "n",
                                     .identifier = identifier(i),
                                     .duration = kDuration,
                                     .sequence = sequence() + windows_ahead}),
                .foreign = 7,
                .own = 0};
    }
    static Sequence sequence() { return instant_at(kNow, kDuration).sequence; }

    const std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = kMaxKeys, .sharing = Sharing::kAlone, .seed = 1});
    HashedNameCells cells_{*table_, kMostCells};
};

TEST_F(HashedNameCellsTest, AHeldKeyIsFoundByItsStoredName) {
    const EpochPin pin;
    make(1);
    const auto key = cells_.find_or_hold(cell(1), kNow);
    ASSERT_TRUE(key);
    EXPECT_EQ(key->identifier, identifier(1));
    EXPECT_EQ(cells_.cells(), 0U);
}

TEST_F(HashedNameCellsTest, TheRegionsOwnRowMayHoldWhatThisNodeWasGranted) {
    const EpochPin pin;
    Entry& entry = make(1);
    entry.admitted(sequence()).add(sequence(), 4);
    entry.set_credit(sequence(), 5);
    EXPECT_TRUE(entry.merge_imported(sequence(), {.own = 9, .foreign = 0}));
    EXPECT_EQ(entry.peers(sequence()), 0U);
    EXPECT_TRUE(entry.merge_imported(sequence(), {.own = 11, .foreign = 0}));
    EXPECT_EQ(entry.peers(sequence()), 2U) << "the rest was spent by peers";
}

TEST_F(HashedNameCellsTest, ACellWaitsForTheKeyAndIsMergedOnce) {
    const EpochPin pin;
    EXPECT_FALSE(cells_.find_or_hold(cell(1), kNow));
    EXPECT_FALSE(cells_.find_or_hold(cell(1), kNow));
    EXPECT_EQ(cells_.cells(), 1U);
    EXPECT_EQ(make(2).global(sequence()), 0U);
    EXPECT_EQ(make(1).global(sequence()), 7U);
    EXPECT_EQ(cells_.cells(), 0U);
}

TEST_F(HashedNameCellsTest, WaitingCellsAreBoundedAndThoseThatDieFirstAreDropped) {
    const EpochPin pin;
    for (int i = 0; i < 9; ++i)
        cells_.find_or_hold(cell(i), kNow);
    for (int i = 0; i < 9; ++i)
        cells_.find_or_hold(cell(i, 1), kNow);
    EXPECT_EQ(cells_.cells(), kMostCells);
    EXPECT_EQ(cells_.dropped(), 8U);
    for (int i = 0; i < 9; ++i)
        EXPECT_EQ(make(i).global(sequence() + 1), 7U) << i;
}

TEST_F(HashedNameCellsTest, DeadCellsAreDropped) {
    const EpochPin pin;
    cells_.find_or_hold(cell(1), kNow);
    cells_.find_or_hold(cell(2, 1), kNow);
    cells_.forget_dead(kNow + kDuration);
    EXPECT_EQ(cells_.cells(), 2U);
    cells_.forget_dead(kNow + 2 * kDuration);
    EXPECT_EQ(cells_.cells(), 1U);
    EXPECT_EQ(cells_.dropped(), 0U);
}

TEST_F(HashedNameCellsTest, TheIndexIsBoundedByTheKeysInTheTable) {
    for (int i = 0; i < 5'000; ++i) {
        const EpochPin pin;
        make(i);
        ASSERT_LE(cells_.keys(), 4 * kMaxKeys);
    }
    cells_.forget_dead(kNow);
    EXPECT_LE(cells_.keys(), table_->tally().held());
    EXPECT_GE(cells_.keys(), kMaxKeys);
}

}  // namespace
}  // namespace sluice
