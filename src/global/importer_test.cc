#include "global/importer.h"

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
};

TEST_F(ImporterTest, ForeignRegionsAreSummed) {
    a_.spend("k", 12, 20);
    b_.spend("k", 11, 20);
    a_.publish();
    b_.publish();
    c_.import();
    EXPECT_EQ(c_.global("k"), 23U);
    a_.import();
    EXPECT_EQ(a_.global("k"), 11U);
}

TEST_F(ImporterTest, UnknownCellsAreMadeAndCountedApart) {
    a_.spend("k", 6);
    a_.publish();
    b_.import();
    EXPECT_EQ(b_.table().tally().imported.load(), 1U);
    EXPECT_EQ(b_.table().tally().created.load(), 0U);
    EXPECT_EQ(a_.table().tally().imported.load(), 0U);
}

TEST_F(ImporterTest, TheRegionsOwnRowNeverEntersItsGlobalCount) {
    a_.spend("k", 6);
    a_.publish();
    a_.import();
    a_.import();
    EXPECT_EQ(a_.global("k"), 0U);
    EXPECT_EQ(a_.others("k"), 0U);
}

// Its nodes have forgotten all of it, and so has its origin.
TEST_F(ImporterTest, TheRegionsOwnRowRemindsItOfWhatItSpent) {
    a_.spend("k", 6);
    a_.publish();
    GlobalNode reborn(clock_, world_, "a");
    reborn.spend("k", 2);
    reborn.import();
    EXPECT_EQ(reborn.others("k"), 4U);
    EXPECT_EQ(reborn.global("k"), 0U);
}

TEST_F(ImporterTest, AnImportThatComesTwiceLateOrInPiecesChangesNothing) {
    a_.spend("k", 6);
    a_.publish();
    b_.import();
    const CellName cell{.workspace = "default",
                        .name_space = "n",
                        .identifier = "k",
                        .duration = b_.duration,
                        .sequence = b_.sequence()};
    b_.globe.importer().merge({.cell = cell, .foreign = 6, .own = 0});
    b_.globe.importer().merge({.cell = cell, .foreign = 5, .own = 0});
    EXPECT_EQ(b_.global("k"), 6U);
}

TEST_F(ImporterTest, OnlyWhatChangedIsReadAgainUntilTheNextFullPass) {
    for (int i = 0; i < 100; ++i)
        a_.spend("k" + std::to_string(i), 6);
    a_.publish();
    b_.import();
    EXPECT_EQ(b_.globe.importer().counts().cells_last_time, 100U);
    clock_.advance(seconds{100});
    a_.spend("k3", 1);
    a_.publish();
    b_.import();
    b_.import();
    EXPECT_LT(b_.globe.importer().counts().cells_last_time, 100U);
    clock_.advance(seconds{100});
    b_.import();
    EXPECT_EQ(b_.globe.importer().counts().cells_last_time, 1U);
    EXPECT_EQ(b_.global("k3"), 7U);
    std::size_t full = 0;
    for (int i = 0; i < 2 * Importer::kFullEvery; ++i) {
        b_.import();
        if (!b_.store.imports.back().changed_since) ++full;
    }
    EXPECT_EQ(full, 2U);
}

TEST_F(ImporterTest, AFailedImportIsAskedForAgain) {
    a_.spend("k", 6);
    a_.publish();
    b_.store.failures = {Kind::kLost};
    b_.import();
    EXPECT_EQ(b_.global("k"), 0U);
    EXPECT_EQ(b_.globe.importer().counts().failures, 1U);
    b_.import();
    EXPECT_EQ(b_.global("k"), 6U);
}

// A row is stamped before it is committed, and may be seen after others that were stamped later.
TEST_F(ImporterTest, ARowThatWasCommittedAMinuteLateIsImportedByTheNextPass) {
    b_.spend("k", 6);
    b_.publish();
    c_.import();
    auto late = world_->held();
    for (auto& [name, components] : late)
        components["a"] = {.count = 9, .updated_at = clock_.wall - seconds{60}};
    a_.spend("other", 6);
    a_.publish();
    c_.import();
    for (auto& [name, components] : world_->held())
        late.try_emplace(name, components);
    world_->restore(late);
    c_.import();
    EXPECT_EQ(c_.global("k"), 15U);
}

TEST_F(ImporterTest, ACellOfARegionWhoseClockIsWrongIsLeftAlone) {
    CellName cell{.workspace = "default",
                  .name_space = "n",
                  .identifier = "k",
                  .duration = b_.duration,
                  .sequence = b_.sequence() + 5};
    b_.import();  // sets the time
    b_.globe.importer().merge({.cell = cell, .foreign = 6, .own = 0});
    const EpochPin pin;
    EXPECT_EQ(b_.find("k")->high(), b_.sequence());
    EXPECT_EQ(b_.global("k"), 0U);
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

// Somebody wrote them by hand, or another program did.
TEST_F(ImporterTest, RowsThatNoRegionCanHaveWrittenAreLeftOut) {
    const auto row = [&](Duration duration, Sequence sequence) {
        return ImportedCell{.cell = {.workspace = "w",
                                     .name_space = "n",
                                     .identifier = "k",
                                     .duration = duration,
                                     .sequence = sequence},
                            .foreign = 5,
                            .own = 5};
    };
    Importer& importer = a_.globe.importer();
    clock_.advance(seconds{12});
    ASSERT_TRUE(importer.next(clock_.now, clock_.wall));
    const Sequence now = instant_at(clock_.wall, a_.duration).sequence;
    importer.merge(row(Duration{0}, now));
    importer.merge(row(Duration{-1}, now));
    importer.merge(row(kMaxDuration + Duration{1}, now));
    importer.merge(row(a_.duration, -1));
    importer.merge(row(a_.duration, std::numeric_limits<Sequence>::max()));
    EXPECT_EQ(a_.table().tally().held(), 0U);
}

// The ring of an entry tells sequences apart within 8,192 of them.
TEST_F(ImporterTest, ARowOfAFarFutureIsNotTakenForOneOfThePresent) {
    a_.spend("k", 1);
    Importer& importer = a_.globe.importer();
    clock_.advance(seconds{12});
    ASSERT_TRUE(importer.next(clock_.now, clock_.wall));
    importer.merge({.cell = {.workspace = std::string(Request{}.workspace),
                             .name_space = "n",
                             .identifier = "k",
                             .duration = a_.duration,
                             .sequence = a_.sequence() + 8'192},
                    .foreign = 5,
                    .own = 5});
    EXPECT_EQ(a_.global("k"), 0U);
    EXPECT_EQ(a_.others("k"), 0U);
}

}  // namespace
}  // namespace sluice
