// Publishing of a region: at once, with a tick, or not at all, and by which of its nodes.
#include <gtest/gtest.h>

#include "global/global_fixture.h"

namespace sluice {
namespace {

using CallKind = Publisher::Call::Kind;
using Kind = StoreFailure::Kind;
using std::chrono::milliseconds;

// Three regions, of which the first has two nodes; limits of 120: a lone region publishes from
// 120 / (2 x 3) = 20 on.
class RegionShareTest : public testing::Test {
  protected:
    RegionShareTest() {
        for (GlobalNode* node : {&node_, &peer_, &other_, &third_})
            node->tick();
    }
    Count row(const std::string& identifier, const std::string& region) {
        for (const auto& [name, components] : world_->held()) {
            if (name.identifier != identifier) continue;
            const auto found = components.find(region);
            return found == components.end() ? 0 : found->second.count;
        }
        return 0;
    }
    void spend(GlobalNode& node, Count cost) {
        node.spend("k", cost, kLimit);
        node.global_sync.offer_changes();
    }
    Publisher& publisher() { return node_.global_sync.publisher(); }

    static constexpr Count kLimit = 120;
    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
    GlobalNode node_{clock_, world_, "a"};
    GlobalNode peer_{clock_, world_, "a"};
    GlobalNode other_{clock_, world_, "b"};
    GlobalNode third_{clock_, world_, "c"};
};

TEST_F(RegionShareTest, ACountThatReachesHalfOfItsShareIsPublishedBeforeTheNextTick) {
    node_.tick();
    node_.store.round_trips = 0;
    const auto began = clock_.now;
    clock_.advance(milliseconds{50});
    spend(node_, 19);
    EXPECT_GT(publisher().wake_at(), clock_.now + kUrgedInterval) << "the regular tick";
    spend(node_, 1);
    EXPECT_EQ(publisher().wake_at(), began + kUrgedInterval);
    EXPECT_FALSE(publisher().next(clock_.now, clock_.wall)) << "too soon after the last tick";
    node_.tick();
    EXPECT_EQ(row("k", "a"), 20U);
    EXPECT_EQ(node_.store.round_trips, 0U) << "an urged tick counts no regions";
}

// A half of a share of 15 with four regions. Nothing else would offer the idle key again.
TEST_F(RegionShareTest, ACountThatARegionWhichJoinsMakesDueIsPublishedThoughItsKeyIsIdle) {
    node_.tick();
    spend(node_, 19);
    node_.tick();
    ASSERT_EQ(node_.global_sync.regions(), 3U);
    EXPECT_EQ(row("k", "a"), 0U);
    GlobalNode fourth(clock_, world_, "d");
    for (int i = 0; i < 3; ++i)
        node_.tick();
    EXPECT_EQ(node_.global_sync.regions(), 4U);
    EXPECT_EQ(row("k", "a"), 19U);
}

TEST_F(RegionShareTest, UrgedTicksKeepTheirDistanceAndLeaveTheRegularOneWhereItIs) {
    node_.tick();
    const auto regular = publisher().wake_at();
    for (int i = 0; i < 5; ++i) {
        const auto before = clock_.now;
        spend(node_, 20);
        node_.tick();
        EXPECT_EQ(clock_.now - before, kUrgedInterval) << i;
        EXPECT_EQ(row("k", "a"), 20U * static_cast<Count>(i + 1));
        EXPECT_EQ(publisher().wake_at(), regular);
    }
}

TEST_F(RegionShareTest, ANodeThatStoppedBeingUrgedMayPublishAtOnce) {
    node_.tick();
    clock_.advance(2 * kUrgedInterval);
    spend(node_, 20);
    EXPECT_LE(publisher().wake_at(), clock_.now);
}

// Both know of it by their origin.
TEST_F(RegionShareTest, APeerReadsAndSkipsWhatANodeHasPublished) {
    spend(node_, 30);
    peer_.spend_by_peers("k", 30, kLimit);
    node_.tick();
    ASSERT_EQ(row("k", "a"), 30U);
    EXPECT_EQ(node_.store.reads, 1U);
    peer_.tick();
    EXPECT_EQ(peer_.store.reads, 1U);
    EXPECT_EQ(peer_.store.rows(), 0U);
    EXPECT_TRUE(peer_.global_sync.publisher().is_idle());
    EXPECT_EQ(peer_.global("k"), 0U) << "the row is its own region's";
    // It does not skip what it knows beyond that.
    spend(peer_, 20);
    peer_.tick();
    EXPECT_EQ(row("k", "a"), 50U);
}

TEST_F(RegionShareTest, ATickThatSkipsAllItReadStillCountsTheRegions) {
    spend(node_, 30);
    node_.tick();
    peer_.tick();
    peer_.store.round_trips = 0;
    const auto regular = peer_.global_sync.publisher().wake_at();
    clock_.advance(std::chrono::ceil<milliseconds>(regular - clock_.now));
    peer_.spend_by_peers("k", 30, kLimit);
    peer_.tick();
    EXPECT_EQ(peer_.store.reads, 1U);
    EXPECT_EQ(peer_.store.rows(), 0U);
    EXPECT_EQ(peer_.store.round_trips, 1U);
}

TEST_F(RegionShareTest, WhatCanNotBeReadIsPublished) {
    node_.tick();
    spend(node_, 30);
    node_.store.read_failures = {Kind::kLost};
    node_.tick();
    EXPECT_EQ(node_.store.reads, 1U);
    EXPECT_EQ(row("k", "a"), 30U);
}

TEST_F(RegionShareTest, APublishBringsTheCountsOfOtherRegionsAtOnce) {
    spend(other_, 30);
    other_.tick();
    spend(node_, 20);
    node_.tick();
    EXPECT_EQ(node_.global("k"), 30U);
    EXPECT_TRUE(node_.store.imports.empty());
    // And the other way round, once that publishes again: 120 - 50 are left, a twelfth of that.
    spend(other_, 5);
    EXPECT_EQ(other_.global("k"), 0U);
    other_.import();
    spend(other_, 1);
    other_.tick();
    EXPECT_EQ(row("k", "b"), 36U);
    EXPECT_EQ(other_.global("k"), 20U);
}

TEST_F(RegionShareTest, CellsThatOthersUseArePublishedWithoutBeingReadFirst) {
    spend(other_, 30);
    other_.tick();
    spend(node_, 1);
    node_.import();
    ASSERT_EQ(node_.global("k"), 30U);
    const std::size_t reads = node_.store.reads;
    spend(node_, 7);
    node_.tick();
    EXPECT_EQ(row("k", "a"), 8U);
    EXPECT_EQ(node_.store.reads, reads);
}

TEST_F(RegionShareTest, TheRegularTickCarriesWhateverOthersMayNeed) {
    spend(other_, 30);
    other_.tick();
    spend(node_, 1);
    node_.import();
    EXPECT_EQ(row("k", "a"), 0U);
    clock_.advance(milliseconds{1});
    node_.tick();
    EXPECT_EQ(row("k", "a"), 1U);
}

TEST_F(RegionShareTest, TheRemainderOfALoneCellIsPublishedOnceItStoodStillForATick) {
    spend(node_, 20);
    node_.tick();
    ASSERT_EQ(row("k", "a"), 20U);
    node_.tick();
    for (int i = 1; i <= 3; ++i) {
        spend(node_, 1);
        node_.tick();
        EXPECT_EQ(row("k", "a"), 20U) << "it is still growing";
    }
    node_.tick();
    EXPECT_EQ(row("k", "a"), 23U);
}

TEST_F(RegionShareTest, ALoneCellBelowItsThresholdIsNeverPublished) {
    spend(node_, 19);
    for (int i = 0; i < 2 * Publisher::kRepublishEvery; ++i)
        node_.tick();
    EXPECT_TRUE(world_->held().empty());
}

TEST_F(RegionShareTest, OthersInThePreviousWindowMakeACellAShared) {
    spend(other_, 30);
    spend(node_, 20);
    other_.tick();
    node_.tick();
    ASSERT_EQ(node_.global("k"), 30U);
    clock_.advance(node_.duration);
    spend(node_, 1);
    node_.tick();
    const bool is_published = std::ranges::any_of(world_->held(), [&](const auto& held) {
        return held.first.sequence == node_.sequence() && held.second.contains("a");
    });
    EXPECT_TRUE(is_published) << "a lone cell would wait for 20";
}

TEST_F(RegionShareTest, RowsThatOnlyAPeerPublishedArePublishedAgainAfterALoss) {
    spend(node_, 30);
    peer_.spend_by_peers("k", 30, kLimit);
    node_.tick();
    peer_.tick();
    ASSERT_EQ(peer_.store.rows(), 0U);
    world_->restore({});
    peer_.tick();
    EXPECT_EQ(row("k", "a"), 30U);
}

class RegionCountTest : public testing::Test {
  protected:
    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
};

TEST_F(RegionCountTest, TwoEarlyTicksCountTheRegions) {
    const auto table = *Table::create({.max_keys = 10, .sharing = Sharing::kSole, .seed = 1});
    GlobalSync sync(*table, {.region = "a", .clock = [this] { return clock_.now; }}, clock_.now);
    FickleStore store(world_->join("a"));
    const auto began = clock_.now;
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(sync.publisher().wake_at(), began + i * kUrgedInterval);
        clock_.advance(std::chrono::ceil<milliseconds>(sync.publisher().wake_at() - clock_.now));
        const auto call = sync.publisher().next(clock_.now, clock_.wall);
        ASSERT_TRUE(call);
        EXPECT_EQ(call->kind, CallKind::kPublish);
        EXPECT_TRUE(call->rows.empty());
        sync.make_call(*call, store, clock_.wall);
        EXPECT_EQ(sync.regions(), i == 0 ? 2U : 3U) << "at least two";
        if (i == 0)
            for (const char* region : {"b", "c"})
                (void)world_->join(region)->publish({}, [](const RegionRow&) {});
    }
    EXPECT_EQ(store.round_trips, 2U);
}

TEST_F(RegionCountTest, RegionsThatAreGoneAreForgotten) {
    GlobalNode a(clock_, world_, "a");
    {
        const GlobalNode b(clock_, world_, "b");
        const GlobalNode c(clock_, world_, "c");
    }
    a.tick();
    EXPECT_EQ(a.global_sync.regions(), 3U);
    clock_.advance(kRegionMemory);
    a.tick();
    EXPECT_EQ(a.global_sync.regions(), 2U) << "itself, and the floor";
}

TEST_F(RegionCountTest, TheFloorIsASetting) {
    GlobalNode alone(clock_, world_, "a", {.least_regions = 10});
    EXPECT_EQ(alone.global_sync.regions(), 10U);
    alone.tick();
    EXPECT_EQ(alone.global_sync.regions(), 10U);
    alone.spend("k", 4, 100);
    alone.tick();
    EXPECT_TRUE(world_->held().empty());
    alone.spend("k", 1, 100);  // 100 / (2 x 10)
    alone.tick();
    EXPECT_EQ(world_->held().size(), 1U);
}

TEST_F(RegionCountTest, ACountThatTheStoreCouldNotReadChangesNothing) {
    GlobalNode a(clock_, world_, "a");
    const GlobalNode b(clock_, world_, "b");
    const GlobalNode c(clock_, world_, "c");
    a.tick();
    ASSERT_EQ(a.global_sync.regions(), 3U);
    clock_.advance(
        std::chrono::ceil<milliseconds>(a.global_sync.publisher().wake_at() - clock_.now));
    ASSERT_TRUE(a.global_sync.publisher().next(clock_.now, clock_.wall));
    a.global_sync.answered(PublishEnd{}, 1, clock_.now);
    EXPECT_EQ(a.global_sync.regions(), 3U);
}

}  // namespace
}  // namespace sluice
