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
    static CellTotals raise(Origin& node, const CellName& name, Count own) {
        CellTotals totals{};
        node.raise({{.cell = name, .own = own}},
                   [&](Result<std::vector<CellTotals>> answer) { totals = answer->at(0); });
        return totals;
    }
    static CellTotals read(Origin& node, const CellName& name) {
        CellTotals totals{};
        node.read({name}, [&](Result<std::vector<CellTotals>> answer) { totals = answer->at(0); });
        return totals;
    }

    std::shared_ptr<MemoryRegion> region_ = MemoryRegion::create();
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

TEST_F(MemoryOriginTest, ForgetsACellWhenItCanNoLongerBeAPreviousOne) {
    raise(*a_, cell("x", 10), 1);
    region_->forget_dead(start_of(12, kMinute) - Duration{1});
    EXPECT_EQ(region_->cells(), 1U);
    region_->forget_dead(start_of(12, kMinute));
    EXPECT_EQ(region_->cells(), 0U);
}

TEST_F(MemoryOriginTest, OutlivesTheHandleThatMadeIt) {
    region_.reset();
    EXPECT_EQ(raise(*a_, cell("x"), 1).total, 1U);
}

}  // namespace
}  // namespace sluice
