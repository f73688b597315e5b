#include "global/importer.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "global/global_fixture.h"

namespace sluice {
namespace {

using Kind = StoreFailure::Kind;
using std::chrono::seconds;

class ImporterTest : public testing::Test {
  protected:
    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
    GlobalNode a_{clock_, world_, "a"};
    GlobalNode b_{clock_, world_, "b"};
    GlobalNode c_{clock_, world_, "c"};

    RegionRow row_of(const std::string& region, const std::string& identifier, Count count) {
        return {.cell = {.workspace = "default",
                         .name_space = "n",
                         .identifier = identifier,
                         .duration = a_.duration,
                         .sequence = a_.sequence()},
                .region = region,
                .count = count};
    }
};

TEST_F(ImporterTest, ForeignRegionsAreSummed) {
    a_.spend("k", 12, 20);
    b_.spend("k", 11, 20);
    a_.publish();
    b_.publish();
    c_.spend("k", 0);
    c_.import();
    EXPECT_EQ(c_.global("k"), 23U);
    a_.import();
    EXPECT_EQ(a_.global("k"), 11U);
}

TEST_F(ImporterTest, AKeyThatWasImportedBeforeItsFirstRequestCountsFromThatOn) {
    a_.spend("k", 6);
    a_.publish();
    b_.import();
    EXPECT_EQ(b_.table().tally().held(), 0U) << "an import makes no entry";
    EXPECT_EQ(b_.global_sync.components().cells(), 1U);
    b_.spend("k", 0);
    EXPECT_EQ(b_.global("k"), 6U);
}

// A client that uses random keys in one region can't evict the keys of another.
TEST_F(ImporterTest, ImportsDisplaceNoKeys) {
    b_.spend("mine", 1);
    const std::size_t held = b_.table().tally().held();
    for (int i = 0; i < 20'000; ++i)  // twice as many as its table holds
        b_.global_sync.merge(row_of("a", "random " + std::to_string(i), 6),
                             {.source = ComponentSource::kStore, .wall = clock_.wall});
    EXPECT_NE(b_.find("mine"), nullptr);
    EXPECT_EQ(b_.table().tally().held(), held);
    EXPECT_EQ(b_.global_sync.components().cells(), 20'000U);
}

TEST_F(ImporterTest, TheRegionsOwnRowNeverEntersItsGlobalCount) {
    a_.spend("k", 6);
    a_.publish();
    a_.import();
    a_.import();
    EXPECT_EQ(a_.global("k"), 0U);
    EXPECT_EQ(a_.peers("k"), 0U);
}

// Its nodes have forgotten all of it, and so has its origin.
TEST_F(ImporterTest, TheRegionsOwnRowRemindsItOfWhatItSpent) {
    a_.spend("k", 6);
    a_.publish();
    GlobalNode reborn(clock_, world_, "a");
    reborn.spend("k", 2);
    reborn.import();
    EXPECT_EQ(reborn.peers("k"), 4U);
    EXPECT_EQ(reborn.global("k"), 0U);
}

TEST_F(ImporterTest, AnImportThatComesTwiceLateOrInPiecesChangesNothing) {
    a_.spend("k", 6);
    a_.publish();
    b_.spend("k", 0);
    b_.import();
    b_.global_sync.importer().merge(row_of("a", "k", 6));
    b_.global_sync.importer().merge(row_of("a", "k", 5));
    EXPECT_EQ(b_.global("k"), 6U);
}

TEST_F(ImporterTest, OnlyWhatChangedIsReadAgainUntilTheNextFullPass) {
    for (int i = 0; i < 100; ++i)
        a_.spend("k" + std::to_string(i), 6);
    a_.publish();
    b_.import();
    EXPECT_EQ(b_.global_sync.importer().counts().rows_last_time, 100U);
    clock_.advance(seconds{100});
    a_.spend("k3", 1);
    a_.publish();
    b_.import();
    b_.import();
    EXPECT_LT(b_.global_sync.importer().counts().rows_last_time, 100U);
    clock_.advance(seconds{100});
    b_.import();
    EXPECT_EQ(b_.global_sync.importer().counts().rows_last_time, 1U);
    EXPECT_EQ(b_.global("k3"), 7U);
    b_.store.imports.clear();
    for (int i = 0; i < 2 * Importer::kScanEvery; ++i)
        b_.import();
    const auto is_of_a_scan = [](const ImportQuery& query) { return !query.changed_since; };
    EXPECT_EQ(std::ranges::count_if(b_.store.imports, is_of_a_scan), 2);
    EXPECT_EQ(b_.store.imports.size(), 2U + 2 * Importer::kScanEvery) << "changes in each tick";
}

// A table that takes many pages.
class ImporterScanTest : public ImporterTest {
  protected:
    static constexpr std::size_t kKeys = 1'000;

    ImporterScanTest() {
        for (std::size_t i = 0; i < kKeys; ++i)
            a_.spend("k" + std::to_string(i), 6);
        a_.publish();
    }

    // Moves time to the next page, and reads that alone.
    void read_page(GlobalNode& node) {
        Importer& importer = node.global_sync.importer();
        clock_.advance(
            std::max(std::chrono::ceil<std::chrono::milliseconds>(importer.wake_at() - clock_.now),
                     std::chrono::milliseconds{0}));
        const auto query = importer.next(clock_.now, clock_.wall);
        ASSERT_TRUE(query);
        const auto visit = [&](const RegionRow& row) { importer.merge(row); };
        importer.answered(node.store.import(*query, visit), clock_.now);
    }
    const ImportQuery& last_query(const GlobalNode& node) { return node.store.imports.back(); }
    std::size_t known(GlobalNode& node) {
        std::size_t known = 0;
        for (std::size_t i = 0; i < kKeys; ++i)
            if (node.global("k" + std::to_string(i)) == 6) ++known;
        return known;
    }

    GlobalNode paged_{clock_, world_, "paged", {.import_page_rows = 100}};
};

TEST_F(ImporterScanTest, PagesFollowEachOtherWithoutWaiting) {
    read_page(paged_);
    EXPECT_EQ(known(paged_), 100U);
    const auto began = clock_.now;
    paged_.import();
    EXPECT_EQ(clock_.now, began);
    EXPECT_EQ(known(paged_), kKeys);
    EXPECT_EQ(paged_.store.imports.size(), 11U) << "ten pages, and one that finds no more";
    EXPECT_EQ(paged_.global_sync.importer().counts().rows_last_time, kKeys);
}

TEST_F(ImporterScanTest, AScanThatFailedGoesOnWhereItWas) {
    for (int i = 0; i < 4; ++i)
        read_page(paged_);
    EXPECT_EQ(known(paged_), 400U);
    paged_.store.failures = {Kind::kLost};
    read_page(paged_);
    const auto cursor = last_query(paged_).after;
    ASSERT_TRUE(cursor);
    EXPECT_EQ(paged_.global_sync.importer().counts().failures, 1U);
    EXPECT_GT(paged_.global_sync.importer().wake_at(), clock_.now) << "it waits for the next tick";
    read_page(paged_);
    EXPECT_TRUE(last_query(paged_).changed_since) << "changes come first";
    read_page(paged_);
    EXPECT_EQ(last_query(paged_).after, cursor);
    paged_.import();
    EXPECT_EQ(known(paged_), kKeys);
}

TEST_F(ImporterScanTest, ChangesAreReadInEachTickHoweverLongAScanTakes) {
    // All others changed so long ago that only the scan finds them.
    clock_.advance(seconds{100});
    a_.spend("k998", 1);
    a_.publish();
    read_page(paged_);
    a_.spend("k999", 1);
    a_.publish();
    std::size_t ticks = 0;
    for (int i = 0; i < 8; ++i) {
        clock_.advance(seconds{6});  // what a page takes
        read_page(paged_);
        if (last_query(paged_).changed_since) ++ticks;
    }
    EXPECT_GE(ticks, 3U);
    EXPECT_LE(ticks, 5U) << "the scan goes on as well";
    EXPECT_EQ(paged_.global("k999"), 7U) << "the scan has not come to it";
    EXPECT_LT(known(paged_), kKeys - 2);
    EXPECT_EQ(paged_.global_sync.importer().counts().last_success, std::nullopt);
}

// A scan in one piece would fail for ever, and nothing else would be imported.
TEST_F(ImporterScanTest, PagesShrinkWhereTheStoreIsTooSlow) {
    GlobalNode slow(clock_, world_, "slow", {.import_page_rows = kKeys});
    slow.store.most_page_rows = 200;
    for (int tick = 0; tick < 15; ++tick)
        slow.import();
    EXPECT_EQ(known(slow), kKeys);
    EXPECT_GE(slow.global_sync.importer().counts().failures, 3U) << "1,000, 500 and 250 rows";
    EXPECT_LE(slow.global_sync.importer().counts().failures, 8U);
    slow.store.most_page_rows = SIZE_MAX;
    for (int tick = 0; tick < 30 * Importer::kScanEvery; ++tick)
        slow.import();
    const auto is_full_page = [](const ImportQuery& query) {
        return !query.changed_since && query.page_rows == kKeys;
    };
    slow.store.imports.erase(slow.store.imports.begin(), slow.store.imports.begin() + 20);
    EXPECT_TRUE(std::ranges::any_of(slow.store.imports, is_full_page)) << "larger ones again";
}

TEST_F(ImporterScanTest, ChangesOfManyPagesAreReadToTheirEndAndNotBeyond) {
    paged_.import();
    clock_.advance(seconds{100});
    for (std::size_t i = 0; i < kKeys; ++i) {
        a_.spend("k" + std::to_string(i), 1);
        if (i % 50 == 0) a_.publish(), clock_.advance(std::chrono::milliseconds{10});
    }
    a_.publish();
    paged_.store.imports.clear();
    paged_.import();
    EXPECT_GE(paged_.store.imports.size(), 8U);
    for (std::size_t i = 0; i < kKeys; ++i)
        EXPECT_EQ(paged_.global("k" + std::to_string(i)), 7U);
}

// The clock of the store was set back after they were stamped.
TEST_F(ImporterScanTest, ChangesOfManyPagesIncludeRowsStampedInTheFuture) {
    paged_.import();
    clock_.advance(seconds{100});
    for (std::size_t i = 0; i < kKeys; ++i)
        a_.spend("k" + std::to_string(i), 1);
    a_.publish();
    auto held = world_->held();
    std::size_t row = 0;
    for (auto& [name, components] : held)
        components["a"].updated_at += std::chrono::milliseconds{++row * 1'000};
    world_->restore(held);
    paged_.store.imports.clear();
    paged_.import();
    const auto is_of_a_scan = [](const ImportQuery& query) { return !query.changed_since; };
    ASSERT_TRUE(std::ranges::none_of(paged_.store.imports, is_of_a_scan));
    for (std::size_t i = 0; i < kKeys; ++i)
        EXPECT_EQ(paged_.global("k" + std::to_string(i)), 7U);
}

TEST_F(ImporterTest, ChangesAreReadAfterTheClockOfTheStoreWasSetBack) {
    a_.spend("k", 6);
    a_.publish();
    b_.import();
    auto held = world_->held();
    for (auto& [name, components] : held)
        components["a"].updated_at += std::chrono::hours{1};
    world_->restore(held);
    b_.import();
    clock_.advance(seconds{5});
    a_.spend("other", 6);
    a_.publish();
    b_.import();
    b_.import();
    EXPECT_EQ(b_.global("other"), 6U);
}

TEST_F(ImporterTest, AFailedImportIsRetried) {
    a_.spend("k", 6);
    a_.publish();
    b_.store.failures = {Kind::kLost};
    b_.import();
    EXPECT_EQ(b_.global("k"), 0U);
    EXPECT_EQ(b_.global_sync.importer().counts().failures, 1U);
    b_.import();
    EXPECT_EQ(b_.global("k"), 6U);
}

// A row is stamped before it is committed, and may be seen after others that were stamped later.
TEST_F(ImporterTest, ARowThatWasCommittedAMinuteLateIsImportedByTheNextPass) {
    b_.spend("k", 6);
    b_.publish();
    c_.import();
    // Long enough that the other component of the cell is not what brings it back.
    clock_.advance(seconds{100});
    b_.spend("other", 6);
    b_.publish();
    c_.import();
    auto late = world_->held();
    for (auto& [name, components] : late)
        if (name.identifier == "k")
            components["a"] = {.count = 9, .updated_at = clock_.wall - seconds{60}};
    world_->restore(late);
    c_.import();
    EXPECT_EQ(c_.global("k"), 15U);
}

TEST_F(ImporterTest, ACellOfARegionWhoseClockIsWrongIsLeftAlone) {
    b_.spend("k", 1);
    b_.import();  // sets the time
    RegionRow row = row_of("a", "k", 6);
    row.cell.sequence += 5;
    b_.global_sync.importer().merge(row);
    EXPECT_EQ(b_.global("k"), 0U);
    const EpochPin pin;
    EXPECT_EQ(b_.find("k")->high(), b_.sequence());
}

TEST_F(ImporterTest, TheGlobalCountOfThePreviousCellIsKept) {
    a_.spend("k", 6);
    a_.publish();
    b_.import();
    clock_.advance(b_.duration);
    b_.spend("k", 1);
    const EpochPin pin;
    EXPECT_EQ(b_.find("k")->global(b_.sequence() - 1), 6U);
}

// Rows that were written by hand, or by another program.
TEST_F(ImporterTest, RowsThatNoRegionCanHaveWrittenAreLeftOut) {
    const auto row = [&](Duration duration, Sequence sequence) {
        return RegionRow{.cell = {.workspace = "w",
                                  .name_space = "n",
                                  .identifier = "k",
                                  .duration = duration,
                                  .sequence = sequence},
                         .region = "b",
                         .count = 5};
    };
    Importer& importer = a_.global_sync.importer();
    clock_.advance(seconds{12});
    ASSERT_TRUE(importer.next(clock_.now, clock_.wall));
    const Sequence now = instant_at(clock_.wall, a_.duration).sequence;
    importer.merge(row(Duration{0}, now));
    importer.merge(row(Duration{-1}, now));
    importer.merge(row(kMaxDuration + Duration{1}, now));
    importer.merge(row(a_.duration, -1));
    importer.merge(row(a_.duration, std::numeric_limits<Sequence>::max()));
    EXPECT_EQ(a_.global_sync.components().cells(), 0U);
    importer.merge(row(a_.duration, now));
    EXPECT_EQ(a_.global_sync.components().cells(), 1U);
}

TEST_F(ImporterTest, ACellOfADistantFutureTakesNoPlace) {
    b_.import();  // sets the time
    RegionRow row = row_of("a", "k", 6);
    row.cell.sequence += 3;
    b_.global_sync.importer().merge(row);
    EXPECT_EQ(b_.global_sync.components().cells(), 0U);
    row.cell.sequence -= 2;
    b_.global_sync.importer().merge(row);
    EXPECT_EQ(b_.global_sync.components().cells(), 1U) << "their clock may be ahead of ours";
}

// The ring of an entry distinguishes sequences within 8,192 of them.
TEST_F(ImporterTest, ARowOfAFarFutureIsNotTakenForOneOfThePresent) {
    a_.spend("k", 1);
    Importer& importer = a_.global_sync.importer();
    clock_.advance(seconds{12});
    ASSERT_TRUE(importer.next(clock_.now, clock_.wall));
    RegionRow row = row_of("b", "k", 5);
    row.cell.sequence += 8'192;
    importer.merge(row);
    row.region = "a";
    importer.merge(row);
    EXPECT_EQ(a_.global("k"), 0U);
    EXPECT_EQ(a_.peers("k"), 0U);
}

}  // namespace
}  // namespace sluice
