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

// At the start of the current cell.
KeyComponents key(const CellName& current, Count own, Count own_previous = 0) {
    return {.current = current, .own = {own, own_previous}, .lifetime = 2 * current.duration};
}

// The rest of what it does is in tests/redis/origin_contract_test.cc.
class MemoryOriginTest : public testing::Test {
  protected:
    static KeyTotals sync(Origin& node, KeyComponents key) {
        KeyTotals totals{};
        node.sync({std::move(key)},
                  [&](const std::vector<KeyAnswer>& answers) { totals = answers.at(0).value(); });
        return totals;
    }
    static Count lift(Origin& node, const CellName& name, Count own) {
        return sync(node, key(name, own))[0].total;
    }
    static Count read(Origin& node, const CellName& name) { return lift(node, name, 0); }
    static Heartbeat heartbeat(Origin& node) {
        Heartbeat heartbeat;
        node.heartbeat([&](HeartbeatAnswer answer) { heartbeat = answer.value(); });
        return heartbeat;
    }

    std::chrono::steady_clock::time_point now_{};
    std::shared_ptr<MemoryRegion> region_ = MemoryRegion::create([this] { return now_; });
    std::unique_ptr<Origin> a_ = region_->join();
    std::unique_ptr<Origin> b_ = region_->join();
};

TEST_F(MemoryOriginTest, DropsACellWhenItsLifetimeIsOver) {
    sync(*a_, key(cell("x", 11), 1, 2));
    now_ += kMinute - Duration{1};
    EXPECT_EQ(read(*a_, cell("x", 10)), 2U);
    now_ += Duration{1};
    EXPECT_EQ(read(*a_, cell("x", 10)), 0U) << "the previous cell lives a minute less";
    EXPECT_EQ(read(*a_, cell("x", 11)), 1U);
    now_ += kMinute;
    EXPECT_EQ(read(*a_, cell("x", 11)), 0U);
    EXPECT_EQ(lift(*b_, cell("x", 11), 2), 2U) << "another cell by the same name";
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

TEST_F(MemoryOriginTest, StoresNothingForAReadADenialOrAnAbsentComponent) {
    read(*a_, cell("x"));
    const SpendRequest denied{.elapsed = kMinute / 2, .ask = {.cost = 1, .limit = 0}};
    a_->spend({{.components = key(cell("x"), 0), .requests = {denied}}}, [](const auto&) {});
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

TEST_F(MemoryOriginTest, IsSharedByName) {
    const auto one = MemoryRegion::named("one");
    EXPECT_EQ(MemoryRegion::named("one"), one);
    EXPECT_NE(MemoryRegion::named("two"), one);
}

TEST_F(MemoryOriginTest, OutlivesTheHandleThatMadeIt) {
    region_.reset();
    EXPECT_EQ(lift(*a_, cell("x"), 1), 1U);
}

}  // namespace
}  // namespace sluice
