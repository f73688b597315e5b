// Lifetimes and rows of the SQLite origin. tests/redis/origin_contract_test.cc has the rest.
#include "regional/sqlite/sqlite_origin.h"

#include "regional/sqlite/sqlite_origin_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using SqliteOriginTest = SqliteOriginFixture;

TEST_F(SqliteOriginTest, IsAvailableFromTheStart) {
    const auto origin = opened();
    EXPECT_EQ(events_, "available ");
    EXPECT_EQ(origin->node(), "a");
}

TEST_F(SqliteOriginTest, RejectsInvalidOptions) {
    SqliteOriginOptions wrong = options("");
    EXPECT_EQ(open_sqlite_origin(loop_, wrong).error().code, kInvalidOption);
    wrong = options();
    wrong.timeout = 0ms;
    EXPECT_EQ(open_sqlite_origin(loop_, wrong).error().code, kInvalidOption);
}

TEST_F(SqliteOriginTest, FindsItsOwnComponentAgainUnderTheSameName) {
    lift(*opened("a"), cell("x"), 3);
    const auto again = opened("a");
    EXPECT_EQ(read(*again, cell("x"))->own, 3U);
    EXPECT_EQ(lift(*again, cell("x"), 2)->total, 3U);
}

// Their owners have the same name in a listing, and are still two.
TEST_F(SqliteOriginTest, KeepsNodesApartWhoseNamesLookLikeIncarnations) {
    lift(*opened("a"), cell("x"), 5, 1);
    const auto other = opened("a.1");
    EXPECT_EQ(read(*other, cell("x"))->own, 0U);
    EXPECT_EQ(lift(*other, cell("x"), 2)->total, 7U);
}

TEST_F(SqliteOriginTest, StoresNothingThatWasOnlyRead) {
    {
        const auto a = opened();
        EXPECT_EQ(read(*a, cell("x"))->total, 0U);
        EXPECT_TRUE(sync(*a, std::vector<KeyComponents>{}).empty());
        EXPECT_FALSE(spend(*a, key(cell("x"), 0), {11})->granted.at(0));
    }
    EXPECT_EQ(rows(), 0);
}

TEST_F(SqliteOriginTest, KeepsRegionsApart) {
    lift(*opened(), cell("x"), 3);
    SqliteOriginOptions there = options();
    there.region = "there";
    EXPECT_EQ(read(*opened(there), cell("x"))->total, 0U);
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
