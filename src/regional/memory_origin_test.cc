#include "regional/memory_origin.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};

CellName cell(std::string identifier, Sequence sequence = 10) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = kMinute,
            .sequence = sequence};
}

class MemoryOriginTest : public testing::Test {
  protected:
    static CellTotals raise(Origin& node,
                            const CellName& name,
                            Count own,
                            Incarnation incarnation = 0) {
        CellTotals totals{};
        node.raise({{.cell = name, .incarnation = incarnation, .own = own, .lifetime = kMinute}},
                   [&](const std::vector<CellAnswer>& answers) { totals = *answers.at(0); });
        return totals;
    }
    static CellTotals read(Origin& node, const CellName& name) {
        CellTotals totals{};
        node.read({{.cell = name, .incarnation = 0}},
                  [&](const std::vector<CellAnswer>& answers) { totals = *answers.at(0); });
        return totals;
    }

    std::chrono::steady_clock::time_point now_{};
    std::shared_ptr<MemoryRegion> region_ = MemoryRegion::create([this] { return now_; });
    std::unique_ptr<Origin> a_ = region_->join();
    std::unique_ptr<Origin> b_ = region_->join();
};

TEST_F(MemoryOriginTest, SumsTheComponentsOfItsNodes) {
    EXPECT_EQ(raise(*a_, cell("x"), 3).total, 3U);
    EXPECT_EQ(raise(*b_, cell("x"), 4).total, 7U);
    EXPECT_EQ(read(*a_, cell("x")).total, 7U);
    EXPECT_EQ(read(*a_, cell("x")).own, 3U);
    EXPECT_EQ(read(*b_, cell("x")).own, 4U);
}

TEST_F(MemoryOriginTest, TakesRepeatedAndOldComponentsForWhatTheyAre) {
    raise(*a_, cell("x"), 5);
    EXPECT_EQ(raise(*a_, cell("x"), 5).total, 5U);
    EXPECT_EQ(raise(*a_, cell("x"), 2).own, 5U);
    EXPECT_EQ(raise(*a_, cell("x"), 6).total, 6U);
}

TEST_F(MemoryOriginTest, HoldsNothingThatWasOnlyRead) {
    EXPECT_EQ(read(*a_, cell("x")).total, 0U);
    EXPECT_EQ(region_->cells(), 0U);
}

TEST_F(MemoryOriginTest, KeepsCellsApartThatDifferInAnyPart) {
    raise(*a_, cell("x"), 1);
    CellName moved = cell("x");
    moved.workspace = "wn";
    moved.name_space = "";
    CellName longer = cell("x");
    longer.duration = Duration{60'001};
    for (const CellName& other : {cell("X"), cell("x "), cell("x", 11), moved, longer})
        EXPECT_EQ(read(*a_, other).total, 0U);
}

TEST_F(MemoryOriginTest, ForgetsACellWhenItsLifetimeIsOver) {
    raise(*a_, cell("x"), 1);
    now_ += kMinute - Duration{1};
    EXPECT_EQ(read(*a_, cell("x")).total, 1U);
    now_ += Duration{1};
    EXPECT_EQ(read(*a_, cell("x")).total, 0U);
    EXPECT_EQ(raise(*b_, cell("x"), 2).total, 2U) << "another cell by the same name";
}

TEST_F(MemoryOriginTest, DoesNotKeepTheDead) {
    for (int i = 0; i < 10'000; ++i) {
        raise(*a_, cell(std::to_string(i)), 1);
        now_ += Duration{100};
    }
    EXPECT_LT(region_->cells(), 1'500U) << "600 are alive at a time";
}

TEST_F(MemoryOriginTest, AComponentOfZeroOnlyAsks) {
    raise(*b_, cell("y"), 5);
    EXPECT_EQ(raise(*a_, cell("y"), 0).total, 5U);
    EXPECT_EQ(raise(*a_, cell("x"), 0).total, 0U);
    EXPECT_EQ(region_->cells(), 1U);
}

TEST_F(MemoryOriginTest, CountsIncarnationsApart) {
    raise(*a_, cell("x"), 5);
    EXPECT_EQ(raise(*a_, cell("x"), 2, 7).total, 7U);
    EXPECT_EQ(raise(*a_, cell("x"), 2, 7).own, 2U);
    EXPECT_EQ(read(*a_, cell("x")).own, 5U);
}

TEST_F(MemoryOriginTest, ListsWhoSpentWhat) {
    raise(*a_, cell("x"), 5);
    raise(*b_, cell("x"), 2, 7);
    now_ += Duration{20'000};
    a_->list({cell("x"), cell("y")}, [&](const auto& listings) {
        ASSERT_EQ(listings.size(), 2U);
        EXPECT_EQ(listings[0]->total, 7U);
        EXPECT_EQ(listings[0]->lifetime, Duration{40'000});
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
    EXPECT_EQ(raise(*a_, cell("x"), 1).total, 1U);
}

}  // namespace
}  // namespace sluice
