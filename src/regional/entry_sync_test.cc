#include "regional/entry_sync.h"

#include <memory>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

constexpr Sequence kSequence = 100;
constexpr UnixTime kStart{kSequence * Duration{1min}};

class EntrySyncTest : public testing::Test {
  protected:
    // At `after` the start of its window.
    void use(Duration after) { entry_.note_use(10, kStart + after); }
    // As an answer does that comes at once.
    void sync(Duration after) {
        use(after);
        entry_.set_synced(kSequence, 1);
        entry_.set_refreshed(kStart + after);
    }
    bool needs_previous() { return !EntrySync::settled_previous(entry_); }

  private:
    Entry& make() {
        Instant at{};
        const Request request{
            .name_space = "n", .identifier = "a", .limit = 10, .duration = Duration{1min}};
        return table_->entry_for(table_->key(request), kStart, at);
    }
    const std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 10, .sharing = Sharing::kShared, .seed = 1});
    const EpochPin pin_;

  protected:
    Entry& entry_ = make();
};

TEST_F(EntrySyncTest, LeavesOutThePreviousCellOnceItIsKnown) {
    use(10s);
    EXPECT_TRUE(needs_previous()) << "nothing of this window was written yet";
    sync(10s);
    use(11s);
    EXPECT_FALSE(needs_previous());
    const EntrySync without(entry_, kSequence - 1);
    EXPECT_FALSE(without.components(entry_).has_previous);
    EXPECT_TRUE(EntrySync(entry_).components(entry_).has_previous);
}

TEST_F(EntrySyncTest, WritesThePreviousCellIfTheWindowHasTurnedMeanwhile) {
    sync(10s);
    const auto settled = EntrySync::settled_previous(entry_);
    ASSERT_TRUE(settled.has_value());
    entry_.admitted(kSequence).add(kSequence, 3);
    entry_.locate(kStart + Duration{61s});
    const EntrySync turned(entry_, settled);
    EXPECT_TRUE(turned.has_previous());
    EXPECT_EQ(turned.own()[1], 3U);
}

TEST_F(EntrySyncTest, KnowsWhetherItHasAllOfThePreviousCell) {
    entry_.admitted(kSequence - 1).add(kSequence - 1, 5);
    entry_.begin_holding(2);  // a batch, somewhere in the entry
    const EntrySync some(entry_);
    EXPECT_FALSE(some.has_all_previous(entry_));
    entry_.end_holding(2);
    EXPECT_TRUE(EntrySync(entry_).has_all_previous(entry_));
}

TEST_F(EntrySyncTest, ReadsThePreviousCellWhilePeersMayStillWriteIt) {
    sync(3s);
    use(4s);
    EXPECT_TRUE(needs_previous());
    use(6s);
    EXPECT_TRUE(needs_previous()) << "what peers wrote five seconds into the window";
    sync(6s);
    EXPECT_FALSE(needs_previous());
}

TEST_F(EntrySyncTest, ReadsThePreviousCellEveryTenSeconds) {
    sync(10s);
    use(19s);
    EXPECT_FALSE(needs_previous());
    use(21s);
    EXPECT_TRUE(needs_previous()) << "a peer may have written it after an outage";
    sync(21s);
    use(29s);
    EXPECT_FALSE(needs_previous());
    use(46s);
    EXPECT_TRUE(needs_previous());
}

TEST_F(EntrySyncTest, ReadsThePreviousCellLessOftenWhereKeysWaitLongForAFlush) {
    sync(16s);
    use(23s);
    EXPECT_TRUE(EntrySync::settled_previous(entry_, Duration{3s}));
    EXPECT_FALSE(EntrySync::settled_previous(entry_, Duration{1s})) << "every ten seconds";
    use(31s);
    EXPECT_FALSE(EntrySync::settled_previous(entry_, Duration{3s})) << "every fifteen seconds";
}

TEST_F(EntrySyncTest, WritesThePreviousCellThatWasSpentInLate) {
    sync(10s);
    entry_.note_late();
    EXPECT_TRUE(needs_previous());
    EXPECT_FALSE(needs_previous()) << "it is written once";
}

TEST_F(EntrySyncTest, WritesThePreviousCellToAnOriginThatHasLostIt) {
    sync(10s);
    entry_.set_synced(0, 0);
    EXPECT_TRUE(needs_previous());
}

TEST_F(EntrySyncTest, ReadsThePreviousCellOfAKeyThatWasDeniedLately) {
    sync(10s);
    entry_.make_strict(kStart + Duration{11s}, kStart + Duration{71s});
    entry_.set_refreshed(kStart + Duration{11s});
    EXPECT_TRUE(needs_previous());
}

}  // namespace
}  // namespace sluice
