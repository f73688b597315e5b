// Counts, spends, lifetimes and listings of the SQLite origin.
#include "regional/sqlite/sqlite_origin.h"

#include "regional/sqlite/sqlite_origin_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using SqliteOriginTest = SqliteOriginFixture;

TEST_F(SqliteOriginTest, IsAvailableFromTheStart) {
    const auto origin = opened();
    EXPECT_EQ(events_, "available ");
    EXPECT_EQ(origin->node(), "a");
}

TEST_F(SqliteOriginTest, RejectsInvalidOptions) {
    SqliteOriginOptions wrong = options("stopped");
    EXPECT_EQ(open_sqlite_origin(loop_, wrong).error().code, kInvalidOption);
    wrong = options();
    wrong.timeout = 0ms;
    EXPECT_EQ(open_sqlite_origin(loop_, wrong).error().code, kInvalidOption);
}

TEST_F(SqliteOriginTest, SumsTheComponentsOfItsNodesOverARestart) {
    EXPECT_EQ(lift(*opened("a"), cell("x"), 3)->total, 3U);
    const auto b = opened("b");
    EXPECT_EQ(read(*b, cell("x"))->total, 3U);
    EXPECT_EQ(read(*b, cell("x"))->own, 0U);
    EXPECT_EQ(lift(*b, cell("x"), 4)->total, 7U);
    EXPECT_EQ(read(*b, cell("x"))->total, 7U);
    EXPECT_EQ(read(*b, cell("x"))->own, 4U);
}

TEST_F(SqliteOriginTest, FindsItsOwnComponentAgainUnderTheSameName) {
    lift(*opened("a"), cell("x"), 3);
    const auto again = opened("a");
    EXPECT_EQ(read(*again, cell("x"))->own, 3U);
    EXPECT_EQ(lift(*again, cell("x"), 2)->total, 3U);
}

TEST_F(SqliteOriginTest, ARepeatedOrOutdatedComponentChangesNothing) {
    const auto a = opened();
    lift(*a, cell("x"), 5);
    EXPECT_EQ(lift(*a, cell("x"), 5)->total, 5U);
    EXPECT_EQ(lift(*a, cell("x"), 2)->own, 5U);
    EXPECT_EQ(lift(*a, cell("x"), 6)->total, 6U);
}

TEST_F(SqliteOriginTest, SyncsBothCellsOfAKey) {
    KeyComponents components = key(cell("x", 11), 1);
    components.own[1] = 2;
    sync(*opened("b"), components);
    const auto a = opened("a");
    components.own = {3, 4};
    const KeyAnswer answer = sync(*a, components);
    EXPECT_EQ(answer->at(0).total, 4U);
    EXPECT_EQ(answer->at(0).own, 3U);
    EXPECT_EQ(answer->at(1).total, 6U);
    EXPECT_EQ(answer->at(1).own, 4U);
    EXPECT_EQ(read(*a, cell("x", 10))->total, 6U) << "the previous cell is the one before";
}

TEST_F(SqliteOriginTest, KeepsIncarnationsApart) {
    const auto a = opened();
    lift(*a, cell("x"), 5, 0);
    const auto second = lift(*a, cell("x"), 2, 1);
    EXPECT_EQ(second->total, 7U);
    EXPECT_EQ(second->own, 2U);
    EXPECT_EQ(read(*a, cell("x"), 4'294'967'295U)->own, 0U);
    EXPECT_EQ(lift(*a, cell("x"), 1, 4'294'967'295U)->own, 1U);
}

// Their owners have the same name in a listing, and are still two.
TEST_F(SqliteOriginTest, KeepsNodesApartWhoseNamesLookLikeIncarnations) {
    lift(*opened("a"), cell("x"), 5, 1);
    const auto other = opened("a.1");
    EXPECT_EQ(read(*other, cell("x"))->own, 0U);
    EXPECT_EQ(lift(*other, cell("x"), 2)->total, 7U);
}

TEST_F(SqliteOriginTest, AnswersInTheOrderOfItsKeys) {
    const auto a = opened();
    lift(*a, cell("y"), 9);
    const auto answers = sync(*a, {key(cell("x"), 1), key(cell("y"), 0), key(cell("x"), 2, 1)});
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0]->at(0).own, 1U);
    EXPECT_EQ(answers[1]->at(0).total, 9U);
    EXPECT_EQ(answers[2]->at(0).total, 3U);
    EXPECT_EQ(answers[2]->at(0).own, 2U);
}

TEST_F(SqliteOriginTest, StoresNothingThatWasOnlyRead) {
    {
        const auto a = opened();
        EXPECT_EQ(read(*a, cell("x"))->total, 0U);
        EXPECT_TRUE(sync(*a, std::vector<KeyComponents>{}).empty());
        EXPECT_FALSE(spend(*a, key(cell("x"), 0), {11})->granted.at(0));
        EXPECT_EQ(retire(*a, key(cell("x"), 0))->at(0).total, 0U);
    }
    EXPECT_EQ(rows(), 0);
}

TEST_F(SqliteOriginTest, KeepsCellsApartThatDifferInAnyPart) {
    const auto moved = [](std::string workspace, std::string name_space, std::string identifier) {
        return CellName{.workspace = std::move(workspace),
                        .name_space = std::move(name_space),
                        .identifier = std::move(identifier),
                        .duration = kMinute,
                        .sequence = 10};
    };
    std::vector<CellName> cells = {cell("x"),
                                   cell("X"),
                                   cell("x "),
                                   cell(" x"),
                                   cell("x\n"),
                                   cell("x\0"s),
                                   cell("\0x"s),
                                   cell(""),
                                   cell("\0"s),
                                   cell("x", 11),
                                   cell("x", 1),
                                   cell("x", -10),
                                   cell("1:x"),
                                   cell("x60000:10"),
                                   cell("\xFF"),
                                   cell("\xC3\xA9"),
                                   cell("e\xCC\x81"),
                                   cell("é "),
                                   cell("' OR 1 --"),
                                   moved("wn", "", "x"),
                                   moved("", "wn", "x"),
                                   moved("w", "nx", ""),
                                   moved("w", "", "nx"),
                                   moved("w1:n", "", "x"),
                                   moved("w", "n1:x", ""),
                                   moved("w-n", "n", "x"),
                                   moved("w", "n-n", "x"),
                                   moved("W", "n", "x"),
                                   cell(std::string(512, 'x')),
                                   cell(std::string(511, 'x')),
                                   cell(std::string(511, 'x') + '\0'),
                                   cell(std::string(511, 'x') + 'X'),
                                   moved(std::string(512, 'x'), std::string(512, 'x'), "")};
    CellName longer = cell("x");
    longer.duration = Duration{60'001};
    CellName shifted = cell("x", 0);
    shifted.duration = Duration{6'000};
    shifted.sequence = 10;
    cells.push_back(longer);
    cells.push_back(shifted);

    const auto a = opened();
    for (std::size_t i = 0; i < cells.size(); ++i)
        EXPECT_EQ(lift(*a, cells[i], i + 1)->total, i + 1) << i;
    for (std::size_t i = 0; i < cells.size(); ++i)
        EXPECT_EQ(read(*a, cells[i])->total, i + 1) << i;
}

TEST_F(SqliteOriginTest, KeepsRegionsApart) {
    lift(*opened(), cell("x"), 3);
    SqliteOriginOptions there = options();
    there.region = "there";
    EXPECT_EQ(read(*opened(there), cell("x"))->total, 0U);
}

TEST_F(SqliteOriginTest, SumsSaturateAtTheLargestCount) {
    lift(*opened("a"), cell("x"), kMaxCount);
    EXPECT_EQ(read(*opened("a"), cell("x"))->own, kMaxCount);
    const auto b = opened("b");
    const auto totals = lift(*b, cell("x"), kMaxCount);
    EXPECT_EQ(totals->total, kMaxCount);
    EXPECT_EQ(totals->own, kMaxCount);
    EXPECT_EQ(list(*b, cell("x")).total, kMaxCount);
    retire(*b, key(cell("x"), kMaxCount));
    EXPECT_EQ(list(*b, cell("x")).total, kMaxCount);
}

TEST_F(SqliteOriginTest, SpendsWhatFitsOnTopOfAllNodes) {
    lift(*opened("b"), cell("x"), 4);
    {
        const auto a = opened("a");
        const SpendAnswer grants = spend(*a, key(cell("x"), 1), {3, 3, 2});
        EXPECT_EQ(grants->granted, (std::vector{true, false, true}));
        EXPECT_EQ(grants->totals[0].own, 6U);
        EXPECT_EQ(grants->totals[0].total, 10U);
    }
    const auto a = opened("a");
    EXPECT_EQ(read(*a, cell("x"))->own, 6U) << "it is stored";
    EXPECT_EQ(read(*a, cell("x"))->total, 10U);
    EXPECT_EQ(spend(*a, key(cell("x"), 6), {1})->granted, std::vector{false});
}

TEST_F(SqliteOriginTest, SpendCountsAndLiftsThePreviousCell) {
    const auto a = opened();
    KeyComponents components = key(cell("x", 11), 0);
    components.own[1] = 61;
    const SpendAnswer grants = spend(*a, components, {0});
    EXPECT_EQ(grants->granted, std::vector{false});
    EXPECT_EQ(grants->totals[1].own, 61U);
    EXPECT_EQ(read(*a, cell("x", 10))->total, 61U);
}

TEST_F(SqliteOriginTest, AGrantWhoseAnswerWasLostIsNotAddedAgain) {
    const auto a = opened();
    spend(*a, key(cell("x"), 0), {6});
    const SpendAnswer again = spend(*a, key(cell("x"), 0), {6});
    EXPECT_EQ(again->granted, std::vector{true});
    EXPECT_EQ(again->totals[0].total, 6U);
    EXPECT_EQ(read(*a, cell("x"))->total, 6U);
}

TEST_F(SqliteOriginTest, RetireMovesComponentsToTheOneOfStoppedNodes) {
    KeyComponents components = key(cell("x", 11), 3);
    components.own[1] = 4;
    for (const std::string node : {"a", "b"}) {
        const auto origin = opened(node);
        sync(*origin, components);
        for (int i = 0; i < 2; ++i) {  // the second time changes nothing
            const KeyAnswer answer = retire(*origin, components);
            EXPECT_EQ(answer->at(0).total, node == "a" ? 3U : 6U);
            EXPECT_EQ(answer->at(0).own, 0U);
            EXPECT_EQ(answer->at(1).total, node == "a" ? 4U : 8U);
        }
    }
    const auto c = opened("c");
    const CellListing current = list(*c, cell("x", 11));
    ASSERT_EQ(current.components.size(), 1U);
    EXPECT_EQ(current.components[0].owner, "stopped");
    EXPECT_EQ(current.components[0].count, 6U);
    EXPECT_EQ(current.lifetime, 2 * kMinute);
    EXPECT_EQ(list(*c, cell("x", 10)).components.at(0).count, 8U);
}

TEST_F(SqliteOriginTest, RetireLeavesOtherOwners) {
    lift(*opened("b"), cell("x"), 1);
    const auto a = opened("a");
    lift(*a, cell("x"), 3);
    lift(*a, cell("x"), 4, 1);
    retire(*a, key(cell("x"), 3));
    const CellListing listing = list(*a, cell("x"));
    ASSERT_EQ(listing.components.size(), 3U);
    EXPECT_EQ(listing.components[0].owner, "a.1");
    EXPECT_EQ(listing.components[1].owner, "b");
    EXPECT_EQ(listing.components[2].owner, "stopped");
    EXPECT_EQ(listing.components[2].count, 3U);
}

TEST_F(SqliteOriginTest, HeartbeatsComeFromOneNodeThatJoinsOnce) {
    {
        const auto a = opened();
        for (const bool is_first : {true, false}) {
            const HeartbeatAnswer answer = heartbeat(*a);
            EXPECT_EQ(answer->nodes, 1U);
            EXPECT_EQ(answer->has_joined, is_first);
            EXPECT_EQ(answer->clock_offset, 0ms);
        }
    }
    EXPECT_EQ(database()
                  .number("SELECT count FROM components WHERE cell = CAST('heartbeat' AS BLOB)")
                  .value(),
              2);
    EXPECT_TRUE(heartbeat(*opened())->has_joined) << "another process";
}

TEST_F(SqliteOriginTest, IgnoresAComponentWhenItsLifetimeIsOver) {
    const auto a = opened();
    lift(*a, cell("x"), 3, 0, 10s);
    clock_->add(9'999ms);
    EXPECT_EQ(read(*a, cell("x"))->total, 3U);
    clock_->add(1ms);
    EXPECT_EQ(read(*a, cell("x"))->total, 0U);
    EXPECT_EQ(read(*a, cell("x"))->own, 0U);
    EXPECT_TRUE(list(*a, cell("x")).components.empty());
}

TEST_F(SqliteOriginTest, ThePreviousCellLivesOneDurationLess) {
    KeyComponents components = key(cell("x", 11), 1);
    components.own[1] = 2;
    {
        const auto a = opened();
        sync(*a, components);
        EXPECT_EQ(list(*a, cell("x", 11)).lifetime, 2 * kMinute);
        EXPECT_EQ(list(*a, cell("x", 10)).lifetime, kMinute);
        components.current = cell("late", 11);
        components.lifetime = kMinute;
        EXPECT_EQ(sync(*a, components)->at(1).total, 0U) << "it no longer matters";
    }
    EXPECT_EQ(rows(), 3);
}

TEST_F(SqliteOriginTest, ExtendsALifetimeAndNeverShortensIt) {
    const auto a = opened();
    lift(*a, cell("x"), 3, 0, 10s);
    lift(*a, cell("x"), 4, 0, 1s);
    EXPECT_EQ(list(*a, cell("x")).lifetime, 10s);
    lift(*a, cell("x"), 1, 0, 20s);
    EXPECT_EQ(list(*a, cell("x")).lifetime, 20s);
    clock_->add(19'999ms);
    EXPECT_EQ(read(*a, cell("x"))->total, 4U);
}

TEST_F(SqliteOriginTest, DeletesExpiredRowsABoundedNumberAtATime) {
    {
        const auto a = opened();
        for (int batch = 0; batch < 5; ++batch) {
            std::vector<KeyComponents> keys;
            for (int i = 0; i < 500; ++i) {
                keys.push_back(key(cell(std::to_string(batch) + " " + std::to_string(i)), 1));
                keys.back().lifetime = 10s;
            }
            sync(*a, std::move(keys));
        }
        lift(*a, cell("lives"), 1, 0, 20s);
        clock_->add(10s);
        lift(*a, cell("x"), 1);
    }
    EXPECT_EQ(rows(), 2'502 - 1'002);
    {
        const auto a = opened();
        heartbeat(*a);
        heartbeat(*a);
        EXPECT_EQ(read(*a, cell("lives"))->total, 1U);
    }
    EXPECT_EQ(rows(), 2);
}

TEST_F(SqliteOriginTest, ListsTheComponentsByOwner) {
    lift(*opened("a"), cell("x"), 3, 0, 10s);
    lift(*opened("b"), cell("x"), 4, 7, 5s);
    const auto b = opened("b");
    const CellListing listing = list(*b, cell("x"));
    EXPECT_EQ(listing.total, 7U);
    ASSERT_EQ(listing.components.size(), 2U);
    EXPECT_EQ(listing.components[0].owner, "a");
    EXPECT_EQ(listing.components[0].count, 3U);
    EXPECT_EQ(listing.components[1].owner, "b.7");
    EXPECT_EQ(listing.components[1].count, 4U);
    EXPECT_EQ(listing.lifetime, 10s);
    EXPECT_EQ(list(*b, cell("y")).lifetime, 0s);
    EXPECT_EQ(list(*b, cell("y")).total, 0U);
}

TEST_F(SqliteOriginTest, MayBeCalledAndDestroyedInAnAnswer) {
    auto a = opened();
    Count second = 0;
    a->sync({key(cell("x"), 1)}, [&](const auto&) {
        a->sync({key(cell("x"), 2)}, [&](const auto& answers) {
            second = answers.at(0)->at(0).total;
            a.reset();
        });
        a->heartbeat([](auto) { FAIL() << "its origin is gone"; });
    });
    run_until([&] { return second > 0; });
    EXPECT_EQ(second, 2U);
    EXPECT_EQ(a, nullptr);
    loop_.poll();
}

}  // namespace
}  // namespace sluice
