#include "regional/memory_origin.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};
constexpr Duration kSecond{1'000};

CellName cell(std::string identifier, Sequence sequence = 10) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = kMinute,
            .sequence = sequence};
}

// At the start of the current cell.
KeyComponents key(const CellName& current, Count own, Count own_previous = 0) {
    return {.current = current,
            .incarnation = 0,
            .own = {own, own_previous},
            .lifetime = 2 * current.duration};
}

class MemoryOriginTest : public testing::Test {
  protected:
    static KeyTotals sync(Origin& node, KeyComponents key) {
        KeyTotals totals{};
        node.sync({std::move(key)},
                  [&](const std::vector<KeyAnswer>& answers) { totals = answers.at(0).value(); });
        return totals;
    }
    static CellTotals lift(Origin& node,
                           const CellName& name,
                           Count own,
                           Incarnation incarnation = 0) {
        KeyComponents components = key(name, own);
        components.incarnation = incarnation;
        return sync(node, components)[0];
    }
    static CellTotals read(Origin& node, const CellName& name) { return lift(node, name, 0); }
    // Spends `costs` one after the other, of a limit of 10.
    static KeyGrants spend(Origin& node,
                           KeyComponents components,
                           const std::vector<Count>& costs) {
        KeySpend spend{.components = std::move(components), .requests = {}};
        for (const Count cost : costs)
            spend.requests.push_back({.elapsed = kSecond, .ask = {.cost = cost, .limit = 10}});
        KeyGrants grants;
        node.spend({std::move(spend)}, [&](const std::vector<SpendAnswer>& answers) {
            grants = answers.at(0).value();
        });
        return grants;
    }
    static KeyTotals retire(Origin& node, KeyComponents key) {
        KeyTotals totals{};
        node.retire({std::move(key)},
                    [&](const std::vector<KeyAnswer>& answers) { totals = answers.at(0).value(); });
        return totals;
    }
    static Heartbeat heartbeat(Origin& node) {
        Heartbeat heartbeat;
        node.heartbeat([&](HeartbeatAnswer answer) { heartbeat = answer.value(); });
        return heartbeat;
    }
    static CellListing list(Origin& node, const CellName& name) {
        CellListing listing;
        node.list({name}, [&](const auto& listings) { listing = listings.at(0).value(); });
        return listing;
    }

    std::chrono::steady_clock::time_point now_{};
    std::shared_ptr<MemoryRegion> region_ = MemoryRegion::create([this] { return now_; });
    std::unique_ptr<Origin> a_ = region_->join();
    std::unique_ptr<Origin> b_ = region_->join();
};

TEST_F(MemoryOriginTest, IsAvailableFromTheStart) {
    std::string events;
    a_->start({.available = [&](bool is_intact) { events += is_intact ? "intact" : "empty"; },
               .unavailable = {},
               .data_lost = {},
               .write_refused = {}});
    EXPECT_EQ(events, "intact");
}

TEST_F(MemoryOriginTest, SumsTheComponentsOfItsNodes) {
    EXPECT_EQ(lift(*a_, cell("x"), 3).total, 3U);
    EXPECT_EQ(lift(*b_, cell("x"), 4).total, 7U);
    EXPECT_EQ(read(*a_, cell("x")).total, 7U);
    EXPECT_EQ(read(*a_, cell("x")).own, 3U);
    EXPECT_EQ(read(*b_, cell("x")).own, 4U);
}

TEST_F(MemoryOriginTest, SyncsBothCellsOfAKey) {
    sync(*b_, key(cell("x", 11), 5, 7));
    const KeyTotals totals = sync(*a_, key(cell("x", 11), 1, 2));
    EXPECT_EQ(totals[0].total, 6U);
    EXPECT_EQ(totals[0].own, 1U);
    EXPECT_EQ(totals[1].total, 9U);
    EXPECT_EQ(totals[1].own, 2U);
    EXPECT_EQ(read(*a_, cell("x", 10)).total, 9U) << "the previous cell is the one before";
}

TEST_F(MemoryOriginTest, AnswersInTheOrderOfItsKeys) {
    lift(*b_, cell("y"), 9);
    a_->sync({key(cell("x"), 1), key(cell("y"), 2)}, [](const std::vector<KeyAnswer>& answers) {
        ASSERT_EQ(answers.size(), 2U);
        EXPECT_EQ(answers[0]->at(0).total, 1U);
        EXPECT_EQ(answers[1]->at(0).total, 11U);
    });
}

TEST_F(MemoryOriginTest, ARepeatedOrOutdatedComponentChangesNothing) {
    lift(*a_, cell("x"), 5);
    EXPECT_EQ(lift(*a_, cell("x"), 5).total, 5U);
    EXPECT_EQ(lift(*a_, cell("x"), 2).own, 5U);
    EXPECT_EQ(lift(*a_, cell("x"), 6).total, 6U);
}

TEST_F(MemoryOriginTest, AComponentOfZeroOnlyReads) {
    lift(*b_, cell("y"), 5);
    EXPECT_EQ(lift(*a_, cell("y"), 0).total, 5U);
    EXPECT_EQ(lift(*a_, cell("x"), 0).total, 0U);
    EXPECT_EQ(region_->cells(), 1U);
    EXPECT_EQ(list(*a_, cell("y")).components.size(), 1U);
}

TEST_F(MemoryOriginTest, KeepsCellsApartThatDifferInAnyPart) {
    lift(*a_, cell("x"), 1);
    CellName moved = cell("x");
    moved.workspace = "wn";
    moved.name_space = "";
    CellName longer = cell("x");
    longer.duration = Duration{60'001};
    for (const CellName& other : {cell("X"), cell("x "), cell("x", 11), moved, longer})
        EXPECT_EQ(read(*a_, other).total, 0U);
}

TEST_F(MemoryOriginTest, DropsACellWhenItsLifetimeIsOver) {
    sync(*a_, key(cell("x", 11), 1, 2));
    now_ += kMinute - Duration{1};
    EXPECT_EQ(read(*a_, cell("x", 10)).total, 2U);
    now_ += Duration{1};
    EXPECT_EQ(read(*a_, cell("x", 10)).total, 0U) << "the previous cell lives a minute less";
    EXPECT_EQ(read(*a_, cell("x", 11)).total, 1U);
    now_ += kMinute;
    EXPECT_EQ(read(*a_, cell("x", 11)).total, 0U);
    EXPECT_EQ(lift(*b_, cell("x", 11), 2).total, 2U) << "another cell by the same name";
}

TEST_F(MemoryOriginTest, StoresNothingInACellThatNoLongerMatters) {
    KeyComponents late = key(cell("x", 11), 1, 2);
    late.lifetime = kMinute;
    EXPECT_EQ(sync(*a_, late)[1].total, 0U);
    EXPECT_EQ(region_->cells(), 1U);
}

TEST_F(MemoryOriginTest, ExpiredCellsDoNotPileUp) {
    for (int i = 0; i < 10'000; ++i) {
        lift(*a_, cell(std::to_string(i)), 1);
        now_ += Duration{200};
    }
    EXPECT_LT(region_->cells(), 1'500U) << "600 are alive at a time";
}

TEST_F(MemoryOriginTest, CountsIncarnationsApart) {
    lift(*a_, cell("x"), 5);
    EXPECT_EQ(lift(*a_, cell("x"), 2, 7).total, 7U);
    EXPECT_EQ(lift(*a_, cell("x"), 2, 7).own, 2U);
    EXPECT_EQ(read(*a_, cell("x")).own, 5U);
}

TEST_F(MemoryOriginTest, SpendsWhatFitsOnTopOfAllNodes) {
    lift(*b_, cell("x"), 4);
    const KeyGrants grants = spend(*a_, key(cell("x"), 1), {3, 3, 2});
    EXPECT_EQ(grants.granted, (std::vector{true, false, true}));
    EXPECT_EQ(grants.totals[0].own, 6U);
    EXPECT_EQ(grants.totals[0].total, 10U);
    EXPECT_EQ(read(*b_, cell("x")).total, 10U) << "it is stored";
    EXPECT_EQ(read(*a_, cell("x")).own, 6U);
    EXPECT_EQ(spend(*b_, key(cell("x"), 4), {1}).granted, std::vector{false});
}

TEST_F(MemoryOriginTest, SpendCountsThePreviousCell) {
    sync(*b_, key(cell("x", 11), 0, 60));
    const KeyGrants grants = spend(*a_, key(cell("x", 11), 0, 1), {0});
    EXPECT_EQ(grants.granted, std::vector{false});
    EXPECT_EQ(grants.totals[1].total, 61U);
    EXPECT_EQ(grants.totals[1].own, 1U) << "and lifts it";
}

TEST_F(MemoryOriginTest, AGrantWhoseAnswerWasLostIsNotAddedAgain) {
    spend(*a_, key(cell("x"), 0), {6});
    const KeyGrants again = spend(*a_, key(cell("x"), 0), {6});
    EXPECT_EQ(again.granted, std::vector{true});
    EXPECT_EQ(again.totals[0].total, 6U);
}

TEST_F(MemoryOriginTest, ADeniedSpendStoresNothing) {
    EXPECT_EQ(spend(*a_, key(cell("x"), 0), {11}).granted, std::vector{false});
    EXPECT_EQ(region_->cells(), 0U);
}

TEST_F(MemoryOriginTest, CountsTheNodesThatSentAHeartbeatLately) {
    EXPECT_EQ(heartbeat(*a_).nodes, 1U) << "the other one has not sent any";
    EXPECT_EQ(heartbeat(*b_).nodes, 2U);
    now_ += kNodeLifetime - Duration{1};
    EXPECT_EQ(heartbeat(*a_).nodes, 2U);
    now_ += Duration{1};
    EXPECT_EQ(heartbeat(*a_).nodes, 1U);
}

TEST_F(MemoryOriginTest, ANodeJoinsWithItsFirstHeartbeatAndAfterALongPause) {
    EXPECT_TRUE(heartbeat(*a_).has_joined);
    EXPECT_FALSE(heartbeat(*a_).has_joined);
    now_ += kNodeLifetime - Duration{1};
    EXPECT_FALSE(heartbeat(*a_).has_joined);
    now_ += kNodeLifetime;
    EXPECT_TRUE(heartbeat(*a_).has_joined);
    region_->forget();
    EXPECT_TRUE(heartbeat(*a_).has_joined) << "its peers have to count it again";
}

TEST_F(MemoryOriginTest, ADestroyedNodeLeavesAtOnce) {
    heartbeat(*a_);
    heartbeat(*b_);
    b_.reset();
    EXPECT_EQ(heartbeat(*a_).nodes, 1U);
}

TEST_F(MemoryOriginTest, RetireMovesComponentsToTheOneOfStoppedNodes) {
    sync(*a_, key(cell("x", 11), 3, 4));
    sync(*b_, key(cell("x", 11), 5, 6));
    for (int i = 0; i < 2; ++i) {  // the second time changes nothing
        const KeyTotals totals = retire(*a_, key(cell("x", 11), 3, 4));
        EXPECT_EQ(totals[0].total, 8U);
        EXPECT_EQ(totals[0].own, 0U);
        EXPECT_EQ(totals[1].total, 10U);
        const CellListing current = list(*b_, cell("x", 11));
        ASSERT_EQ(current.components.size(), 2U);
        EXPECT_EQ(current.components[0].owner, "stopped");
        EXPECT_EQ(current.components[0].count, 3U);
        EXPECT_EQ(list(*b_, cell("x", 10)).components[0].count, 4U);
    }
    retire(*b_, key(cell("x", 11), 5, 6));
    const CellListing current = list(*a_, cell("x", 11));
    ASSERT_EQ(current.components.size(), 1U);
    EXPECT_EQ(current.components[0].count, 8U);
    EXPECT_EQ(current.total, 8U);
}

TEST_F(MemoryOriginTest, RetireLeavesOtherIncarnationsAndCreatesNothing) {
    lift(*a_, cell("x"), 3);
    retire(*a_, key(cell("y"), 3));
    EXPECT_EQ(region_->cells(), 1U);
    KeyComponents other = key(cell("x"), 3);
    other.incarnation = 1;
    retire(*a_, other);
    EXPECT_EQ(read(*a_, cell("x")).own, 3U);
}

TEST_F(MemoryOriginTest, ListsTheComponentsByOwner) {
    lift(*a_, cell("x"), 5);
    lift(*b_, cell("x"), 2, 7);
    now_ += Duration{20'000};
    a_->list({cell("x"), cell("y")}, [&](const auto& listings) {
        ASSERT_EQ(listings.size(), 2U);
        EXPECT_EQ(listings[0]->total, 7U);
        EXPECT_EQ(listings[0]->lifetime, Duration{100'000});
        ASSERT_EQ(listings[0]->components.size(), 2U);
        EXPECT_EQ(listings[0]->components[0].owner, a_->node());
        EXPECT_EQ(listings[0]->components[1].owner, owner_name(b_->node(), 7));
        EXPECT_EQ(listings[1]->total, 0U);
    });
}

TEST_F(MemoryOriginTest, IsSharedByName) {
    const auto one = MemoryRegion::named("one");
    EXPECT_EQ(MemoryRegion::named("one"), one);
    EXPECT_NE(MemoryRegion::named("two"), one);
}

TEST_F(MemoryOriginTest, OutlivesTheHandleThatMadeIt) {
    region_.reset();
    EXPECT_EQ(lift(*a_, cell("x"), 1).total, 1U);
}

}  // namespace
}  // namespace sluice
