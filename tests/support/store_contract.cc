#include "support/store_contract.h"

#include <algorithm>
#include <vector>

#include "support/store_calls.h"

namespace sluice::global_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

TEST_P(StoreContract, IsEmptyAtFirst) {
    const auto store = kit_->open("eu");
    EXPECT_TRUE(import_all(*store).cells.empty());
    EXPECT_EQ(import_all(*store).newest, std::nullopt);
    EXPECT_EQ(import_changed(*store, UnixTime{}).newest, std::nullopt);
    EXPECT_EQ(delete_expired(*store, 0ms, 10), 0U);
    EXPECT_TRUE(list(*store, cell_of("x")).components.empty());
    publish(*store, std::vector<RegionCount>{});
    EXPECT_TRUE(import_all(*store).cells.empty());
}

TEST_P(StoreContract, LiftsAComponentAndNeverLowersIt) {
    const auto store = kit_->open("eu");
    publish(*store, "x", 5);
    publish(*store, "x", 3);
    EXPECT_EQ(import_all(*store).of("x"), (Components{{"eu", 5}}));
    publish(*store, "x", 8);
    EXPECT_EQ(import_all(*store).of("x"), (Components{{"eu", 8}}));
}

TEST_P(StoreContract, APublishThatIsRepeatedChangesNothing) {
    const auto store = kit_->open("eu");
    publish(*store, "x", 5);
    kit_->pass(10s);
    publish(*store, "x", 5);
    publish(*store, "x", 4);
    EXPECT_EQ(import_all(*store).of("x").at("eu"), 5U);
    EXPECT_TRUE(import_changed(*store, kit_->now() - 5s).cells.empty());
    EXPECT_GE(list(*store, cell_of("x")).components.at(0).age, 10s);
}

TEST_P(StoreContract, EachRegionHasItsComponentAndReadsAllOfThem) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    const auto upper = kit_->open("EU");
    publish(*eu, "x", 5);
    publish(*us, "x", 70);
    publish(*upper, "x", 900);
    publish(*us, "y", 1);
    for (const char* region : {"eu", "us", "other"}) {
        const Imported imported = import_all(*kit_->open(region));
        EXPECT_EQ(imported.of("x"), (Components{{"EU", 900}, {"eu", 5}, {"us", 70}}));
        EXPECT_EQ(imported.of("y"), (Components{{"us", 1}}));
        EXPECT_EQ(imported.visits, 4U);
    }
}

TEST_P(StoreContract, TwoNodesOfARegionShareAComponent) {
    const auto a = kit_->open("eu");
    const auto b = kit_->open("eu");
    publish(*a, "x", 5);
    publish(*b, "x", 7);
    publish(*a, "x", 6);
    EXPECT_EQ(import_all(*a).of("x"), (Components{{"eu", 7}}));
}

TEST_P(StoreContract, AnIncrementalImportHasTheComponentsThatChanged) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    const auto ap = kit_->open("ap");
    publish(*eu, {{cell_of("old"), 1}, {cell_of("x"), 1}});
    publish(*us, {{cell_of("old"), 10}, {cell_of("x"), 10}});
    kit_->pass(10s);
    publish(*ap, "x", 100);
    publish(*ap, "y", 1'000);
    const Imported changed = import_changed(*eu, kit_->now() - 5s);
    EXPECT_EQ(changed.cells.size(), 2U);
    EXPECT_EQ(changed.visits, 2U);
    EXPECT_EQ(changed.of("x"), (Components{{"ap", 100}}));
    EXPECT_EQ(changed.of("y"), (Components{{"ap", 1'000}}));
    EXPECT_EQ(import_changed(*eu, kit_->now() - 1h).cells, import_all(*eu).cells);
}

TEST_P(StoreContract, AnIncrementalImportSeesTheInstantItself) {
    const auto eu = kit_->open("eu");
    publish(*eu, "x", 1);
    const auto newest = import_all(*eu).newest;
    ASSERT_TRUE(newest);
    EXPECT_EQ(import_changed(*eu, *newest).cells.size(), 1U);
    EXPECT_EQ(import_changed(*eu, *newest + 1ms).cells.size(), 0U);
}

TEST_P(StoreContract, AnImportReturnsTheTimeOfTheLastChange) {
    const auto eu = kit_->open("eu");
    publish(*eu, "x", 1);
    kit_->pass(10s);
    const UnixTime before = kit_->now();
    publish(*kit_->open("us"), "y", 1);
    const auto newest = import_all(*eu).newest;
    ASSERT_TRUE(newest);
    EXPECT_GE(*newest, before);
    EXPECT_LE(*newest, kit_->now());
    EXPECT_EQ(import_changed(*eu, before).newest, newest);
}

TEST_P(StoreContract, TheTimeOfAChangeNeverMovesBack) {
    const auto eu = kit_->open("eu");
    publish(*eu, "x", 1);
    kit_->pass(-60s);
    publish(*eu, "x", 2);
    const Imported changed = import_changed(*eu, kit_->now() + 30s);
    ASSERT_EQ(changed.cells.size(), 1U) << "an importer that has seen the first would miss it";
    EXPECT_EQ(changed.of("x").at("eu"), 2U);
}

TEST_P(StoreContract, TheLastChangeIsNeverInTheFuture) {
    const auto eu = kit_->open("eu");
    publish(*eu, "x", 1);
    kit_->pass(-10s);
    const Imported imported = import_all(*eu);
    ASSERT_TRUE(imported.newest);
    EXPECT_LE(*imported.newest, kit_->now());
    ASSERT_TRUE(imported.last_stamp);
    EXPECT_GT(*imported.last_stamp, kit_->now()) << "where to end is another matter";
    EXPECT_EQ(list(*eu, cell_of("x")).components.at(0).age, 0ms);
}

TEST_P(StoreContract, NamesAreBytes) {
    const auto eu = kit_->open("eu");
    const std::vector<std::string> names = {"User"s,
                                            "user"s,
                                            "user "s,
                                            "user\0"s,
                                            "\0user"s,
                                            " user"s,
                                            ""s,
                                            "usér"s,
                                            "us\xFFr"s,
                                            "'\\\""s};
    std::vector<CellName> cells;
    for (const std::string& name : names) {
        cells.push_back(cell_of(name));
        cells.push_back(cell_of("x"));
        cells.back().workspace = name;
        cells.push_back(cell_of("x"));
        cells.back().name_space = name;
    }
    for (std::size_t i = 0; i < cells.size(); ++i)
        publish(*eu, cells[i], i + 1);
    const Imported imported = import_all(*eu);
    EXPECT_EQ(imported.cells.size(), cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        EXPECT_EQ(imported.of(cells[i]).at("eu"), i + 1);
        EXPECT_EQ(list(*eu, cells[i]).components.at(0).count, i + 1);
    }
}

TEST_P(StoreContract, PartsOfNamesAreNotRunTogether) {
    const auto eu = kit_->open("eu");
    CellName left = cell_of("c");
    left.workspace = "ab";
    CellName right = cell_of("bc");
    right.workspace = "a";
    publish(*eu, left, 1);
    publish(*eu, right, 2);
    EXPECT_EQ(import_all(*eu).of(left).at("eu"), 1U);
    EXPECT_EQ(import_all(*eu).of(right).at("eu"), 2U);
}

TEST_P(StoreContract, TheLongestNamesFit) {
    CellName cell = cell_of(std::string(kStoredIdentifierBytes + 1, '\xFF'));
    cell.workspace.assign(kStoredWorkspaceBytes + 1, '\xFF');
    cell.name_space.assign(kStoredNamespaceBytes + 1, '\xFF');
    CellName other = cell;
    other.identifier.back() = '\xFE';
    const auto store = kit_->open(std::string(48, 'r'));
    publish(*store, {{other, 1}, {cell, 2}});
    EXPECT_EQ(sum_of(import_all(*store).of(cell)), 2U);
    EXPECT_EQ(sum_of(import_all(*store).of(other)), 1U);
}

TEST_P(StoreContract, AnotherDurationOrSequenceIsAnotherCell) {
    const auto eu = kit_->open("eu");
    publish(*eu,
            {{cell_of("x", 10, 1s), 1},
             {cell_of("x", 10), 2},
             {cell_of("x", 11), 3},
             {cell_of("x", 10, kMaxDuration), 4}});
    const Imported imported = import_all(*eu);
    EXPECT_EQ(imported.cells.size(), 4U);
    EXPECT_EQ(imported.of(cell_of("x", 10, kMaxDuration)).at("eu"), 4U);
    EXPECT_EQ(imported.of(cell_of("x", 10, 1s)).at("eu"), 1U);
    EXPECT_EQ(imported.of(cell_of("x", 10)).at("eu"), 2U);
    EXPECT_EQ(imported.of(cell_of("x", 11)).at("eu"), 3U);
}

TEST_P(StoreContract, CountsAreExactUpToTheGreatest) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    publish(*eu, "x", kMaxCount - 1);
    publish(*us, "x", 1);
    EXPECT_EQ(import_all(*eu).of("x"), (Components{{"eu", kMaxCount - 1}, {"us", 1}}));
    publish(*eu, "x", kMaxCount);
    EXPECT_EQ(import_all(*us).of("x"), (Components{{"eu", kMaxCount}, {"us", 1}}));
    EXPECT_EQ(list(*us, cell_of("x")).components.at(0).count, kMaxCount);
}

TEST_P(StoreContract, PagesOfAFullImportHoldEachComponentOnce) {
    for (const char* region : {"ap", "eu", "us"}) {
        std::vector<RegionCount> rows;
        for (int i = 10; i < 30; ++i)
            rows.push_back({cell_of(std::to_string(i)), static_cast<Count>(i)});
        publish(*kit_->open(region), rows);
    }
    const auto eu = kit_->open("eu");
    for (const std::size_t page_rows : {1U, 3U, 7U, 20U, 59U, 60U, 61U, 1'000U}) {
        const Imported imported = import(*eu, {.living_at = {}, .page_rows = page_rows});
        EXPECT_EQ(imported.visits, 60U) << page_rows;
        EXPECT_EQ(imported.cells, import_all(*eu).cells) << page_rows;
        // At least three rows a page, those of one cell.
        EXPECT_GE(imported.pages, 60 / std::max<std::size_t>(page_rows + 2, 3)) << page_rows;
        EXPECT_LE(imported.pages, 60 / std::max<std::size_t>(page_rows, 3) + 1) << page_rows;
    }
    EXPECT_EQ(import_all(*eu).of("17"), (Components{{"ap", 17}, {"eu", 17}, {"us", 17}}));
}

TEST_P(StoreContract, PagesOfAnIncrementalImportHoldAllThatChanged) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    publish(*us, {{cell_of("0"), 1}, {cell_of("3"), 1}, {cell_of("8"), 1}});
    kit_->pass(1min);
    for (Count i = 0; i < 8; ++i) {
        publish(*(i % 2 == 0 ? eu : us), std::to_string(i), i + 2);
        kit_->pass(1s);
    }
    const UnixTime since = kit_->now() - 30s;
    for (const std::size_t page_rows : {1U, 2U, 3U, 100U}) {
        const Imported changed =
            import(*eu, {.living_at = {}, .changed_since = since, .page_rows = page_rows});
        EXPECT_EQ(changed.cells, import_changed(*eu, since).cells) << page_rows;
        EXPECT_EQ(changed.cells.size(), 8U) << page_rows;
        EXPECT_GE(changed.pages, 8 / page_rows) << page_rows;
        EXPECT_EQ(changed.of("0"), (Components{{"eu", 2}})) << page_rows;
        EXPECT_EQ(changed.of("3"), (Components{{"us", 5}})) << page_rows;
    }
}

TEST_P(StoreContract, APageMayHoldNothingThatMattersAndStillHasANextOne) {
    const auto eu = kit_->open("eu");
    std::vector<RegionCount> rows;
    for (int i = 10; i < 30; ++i)
        rows.push_back({cell_of(std::to_string(i)), 1});
    rows.push_back({cell_of("x", 1'000), 1});
    publish(*eu, rows);
    const Imported imported = import(*eu, {.living_at = end_of(cell_of("x")), .page_rows = 5});
    EXPECT_EQ(imported.visits, 1U);
    EXPECT_GE(imported.pages, 5U);
}

TEST_P(StoreContract, WhatIsPublishedBetweenTwoPagesIsReadOrComesLater) {
    const auto eu = kit_->open("eu");
    publish(*eu, {{cell_of("b"), 1}, {cell_of("d"), 1}, {cell_of("f"), 1}});
    std::vector<std::string> seen;
    const auto visit = [&](const RegionRow& row) { seen.push_back(row.cell.identifier); };
    const auto first = eu->import({.living_at = {}, .page_rows = 2}, visit);
    ASSERT_TRUE(std::holds_alternative<ImportEnd>(first));
    ASSERT_TRUE(std::get<ImportEnd>(first).rest);
    publish(*eu, {{cell_of("a"), 1}, {cell_of("e"), 1}});
    const auto second = eu->import(*std::get<ImportEnd>(first).rest, visit);
    ASSERT_TRUE(std::holds_alternative<ImportEnd>(second));
    EXPECT_EQ(seen, (std::vector<std::string>{"b", "d", "e", "f"}));
}

TEST_P(StoreContract, AnImportLeavesOutWhatDoesNotMatterAnyMore) {
    const auto eu = kit_->open("eu");
    const CellName cell = cell_of("x", 10);
    publish(*eu, {{cell, 1}, {cell_of("x", 11), 1}});
    EXPECT_EQ(import_all(*eu, end_of(cell) - 1ms).cells.size(), 2U);
    EXPECT_EQ(import_all(*eu, end_of(cell)).cells.size(), 1U);
    EXPECT_EQ(import_changed(*eu, UnixTime{}, end_of(cell) - 1ms).cells.size(), 2U);
    EXPECT_EQ(import_changed(*eu, UnixTime{}, end_of(cell)).cells.size(), 1U);
}

// Windows of an hour, so that the time that a test takes makes no difference.
TEST_P(StoreContract, DeletesNoMoreThanItMayAtOnceAndTheOldestFirst) {
    const auto eu = kit_->open("eu");
    const UnixTime now = kit_->now();
    const Sequence first = instant_at(now, 1h).sequence - 40;
    std::vector<RegionCount> rows;
    for (Sequence sequence = first; sequence < first + 25; ++sequence)
        rows.push_back({cell_of("x", sequence, 1h), 1});
    publish(*eu, rows);
    const auto age = now - end_of(cell_of("x", first + 22, 1h)) - 30min;
    EXPECT_EQ(delete_expired(*eu, age, 10), 10U);
    EXPECT_EQ(import_all(*eu).cells.size(), 15U);
    EXPECT_EQ(import_all(*eu).cells.begin()->first.sequence, first + 10);
    EXPECT_EQ(delete_expired(*eu, age, 10), 10U);
    EXPECT_EQ(delete_expired(*eu, age, 10), 3U);
    EXPECT_EQ(delete_expired(*eu, age, 10), 0U);
    EXPECT_EQ(import_all(*eu).cells.size(), 2U) << "they expired later than that";
}

TEST_P(StoreContract, DeletesNothingThatStillMattersByTheClockOfTheStore) {
    const auto eu = kit_->open("eu");
    const Sequence now = instant_at(kit_->now() + 30min, 1h).sequence;
    for (const Sequence sequence : {now - 3, now - 1, now, now + 1})
        publish(*eu, cell_of("x", sequence, 1h), 1);
    EXPECT_EQ(delete_expired(*eu, 0ms, 10), 1U);
    EXPECT_EQ(import_all(*eu).cells.begin()->first.sequence, now - 1);
    EXPECT_EQ(import_all(*eu).cells.size(), 3U);
}

TEST_P(StoreContract, DeletesComponentsOfAllRegions) {
    publish(*kit_->open("eu"), "x", 1);
    publish(*kit_->open("us"), "x", 1);
    const auto store = kit_->open("eu");
    EXPECT_EQ(delete_expired(*store, 1min, 1), 1U);
    EXPECT_EQ(delete_expired(*store, 1min, 10), 1U);
}

TEST_P(StoreContract, SeveralConnectionsDeleteExpiredCellsOnce) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    publish(*eu, {{cell_of("x"), 1}, {cell_of("y"), 1}, {cell_of("z"), 1}});
    EXPECT_EQ(delete_expired(*us, 0s, 2), 2U);
    EXPECT_EQ(delete_expired(*eu, 0s, 2), 1U);
    EXPECT_EQ(delete_expired(*us, 0s, 2), 0U);
}

TEST_P(StoreContract, ListsEveryComponentOfACell) {
    publish(*kit_->open("us"), {{cell_of("x"), 5}, {cell_of("x", 11), 100}});
    kit_->pass(20s);
    publish(*kit_->open("eu"), "x", 7);
    kit_->pass(10s);
    const auto eu = kit_->open("eu");
    const GlobalListing listing = list(*eu, cell_of("x"));
    ASSERT_EQ(listing.components.size(), 2U);
    EXPECT_EQ(listing.components[0].region, "eu");
    EXPECT_EQ(listing.components[0].count, 7U);
    EXPECT_GE(listing.components[0].age, 10s);
    EXPECT_LT(listing.components[0].age, 20s);
    EXPECT_EQ(listing.components[1].region, "us");
    EXPECT_EQ(listing.components[1].count, 5U);
    EXPECT_GE(listing.components[1].age, 30s);
    const std::vector<CellName> cells = {cell_of("y"), cell_of("x", 11)};
    const auto both = eu->list(cells);
    ASSERT_TRUE(std::holds_alternative<std::vector<GlobalListing>>(both));
    ASSERT_EQ(std::get<0>(both).size(), 2U);
    EXPECT_TRUE(std::get<0>(both)[0].components.empty());
    EXPECT_EQ(std::get<0>(both)[1].components.size(), 1U);
}

TEST_P(StoreContract, TakesManyRowsAtOnce) {
    const auto eu = kit_->open("eu");
    std::vector<RegionCount> rows;
    for (int i = 0; i < 2'000; ++i)
        rows.push_back({cell_of(std::to_string(10'000 + i)), static_cast<Count>(i + 1)});
    publish(*eu, rows);
    const Imported imported = import_all(*eu);
    EXPECT_EQ(imported.visits, rows.size());
    for (const RegionCount& row : rows)
        EXPECT_EQ(imported.of(row.cell).at("eu"), row.count);
}

TEST_P(StoreContract, APublishVisitsAllComponentsOfItsCells) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    publish(*us, {{cell_of("x"), 5}, {cell_of("x", 11), 6}, {cell_of("y"), 7}});
    publish(*eu, "x", 9);
    const ReadBack found = publish(*eu, {{cell_of("x"), 3}, {cell_of("z"), 1}});
    EXPECT_EQ(found.visits, 3U);
    EXPECT_EQ(found.cells,
              (std::map<CellName, Components>{{cell_of("x"), {{"eu", 9}, {"us", 5}}},
                                              {cell_of("z"), {{"eu", 1}}}}));
    EXPECT_EQ(publish(*eu, std::vector<RegionCount>{}).visits, 0U);
}

TEST_P(StoreContract, AReadVisitsAllComponentsOfItsCellsAndChangesNothing) {
    const auto eu = kit_->open("eu");
    publish(*kit_->open("us"), {{cell_of("x"), 5}, {cell_of("y"), 7}});
    publish(*eu, "x", 9);
    const ReadBack found = read(*eu, {cell_of("x"), cell_of("z")});
    EXPECT_EQ(found.cells,
              (std::map<CellName, Components>{{cell_of("x"), {{"eu", 9}, {"us", 5}}}}));
    EXPECT_EQ(import_all(*eu).cells.size(), 2U);
    EXPECT_EQ(read(*eu, {}).visits, 0U);
}

// Windows of all times: the clocks of regions play no part.
TEST_P(StoreContract, RegionsAreCountedByTheClockOfTheStoreAndForgotten) {
    const auto eu = kit_->open("eu");
    const auto us = kit_->open("us");
    EXPECT_EQ(read(*eu, {}).regions, 0U);
    EXPECT_EQ(publish(*eu, std::vector<RegionCount>{}).regions, 1U);
    EXPECT_EQ(publish(*us, std::vector<RegionCount>{}).regions, 2U);
    EXPECT_EQ(publish(*kit_->open("us"), std::vector<RegionCount>{}).regions, 2U);
    kit_->pass(kRegionMemory - 10s);
    EXPECT_EQ(publish(*eu, std::vector<RegionCount>{}).regions, 2U);
    EXPECT_EQ(publish(*eu, cell_of("x", 1), 1).regions, 2U) << "a cell of long ago";
    kit_->pass(20s);
    EXPECT_EQ(read(*eu, {cell_of("x")}).regions, 1U);
    EXPECT_EQ(publish(*us, std::vector<RegionCount>{}).regions, 2U);
}

TEST_P(StoreContract, FailsAfterItWasInterrupted) {
    const auto eu = kit_->open("eu");
    publish(*eu, "x", 1);
    eu->interrupt();
    EXPECT_EQ(failure_of(*eu).kind, StoreFailure::Kind::kLost);
    const auto imported = eu->import({.living_at = {}}, [](const auto&) {});
    ASSERT_TRUE(std::holds_alternative<StoreFailure>(imported));
    EXPECT_EQ(std::get<StoreFailure>(imported).kind, StoreFailure::Kind::kLost);
    EXPECT_EQ(import_all(*kit_->open("eu")).of("x").at("eu"), 1U);
}

}  // namespace
}  // namespace sluice::global_test
