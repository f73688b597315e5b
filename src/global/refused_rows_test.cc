// Rows that the store refuses, calls that fail in one direction only, and cells that would come too
// late.
#include <algorithm>

#include <gtest/gtest.h>

#include "global/global_fixture.h"

namespace sluice {
namespace {

using Kind = StoreFailure::Kind;
using std::chrono::seconds;

class RefusedRowsTest : public testing::Test {
  protected:
    void refuse(const std::string& identifier) {
        node_.store.refuses = [=](const RegionCount& row) {
            return row.cell.identifier == identifier;
        };
    }
    bool holds(const std::string& identifier) {
        return std::ranges::any_of(
            world_->held(), [&](const auto& cell) { return cell.first.identifier == identifier; });
    }
    Publisher& publisher() { return node_.global_sync.publisher(); }

    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
    GlobalNode node_{clock_, world_, "a"};
    GlobalNode other_{clock_, world_, "b"};
};

TEST_F(RefusedRowsTest, OneRowIsGivenUpAndAllOthersArePublishedInTheSameTick) {
    for (int i = 0; i < 2'500; ++i)
        node_.spend("k" + std::to_string(i), 6);
    refuse("k1234");
    node_.publish();
    EXPECT_EQ(world_->held().size(), 2'499U);
    EXPECT_FALSE(holds("k1234"));
    EXPECT_EQ(publisher().counts().refused, 1U);
    // A thousand rows are halved ten times.
    EXPECT_LE(publisher().counts().failures, 11U);
    EXPECT_TRUE(publisher().is_idle());
    const auto refusal = publisher().take_refusal();
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->cell.identifier, "k1234");
    EXPECT_EQ(refusal->why, "scripted");
    EXPECT_FALSE(publisher().take_refusal());
    EXPECT_FALSE(node_.global_sync.publish_breaker().last_failure());
    EXPECT_EQ(node_.global_sync.publish_breaker().state(clock_.now), Breaker::State::kClosed);
}

TEST_F(RefusedRowsTest, RefusedRowsComeAfterAllOthers) {
    for (int i = 0; i < 3'000; ++i)
        node_.spend("k" + std::to_string(10'000 + i), 6);
    refuse("k10000");
    node_.publish();
    ASSERT_GE(node_.store.published.size(), 3U);
    EXPECT_EQ(node_.store.published[0].size(), Publisher::kChunkRows);
    EXPECT_EQ(node_.store.published[1].size(), Publisher::kChunkRows);
    EXPECT_EQ(node_.store.rows(), 2'999U);
    for (const auto& chunk : node_.store.published)
        EXPECT_TRUE(std::ranges::is_sorted(chunk, {}, &RegionCount::cell));
}

TEST_F(RefusedRowsTest, ManyRefusedRowsAreAllFound) {
    for (int i = 0; i < 1'000; ++i)
        node_.spend("k" + std::to_string(i), 6);
    node_.store.refuses = [](const RegionCount& row) { return row.cell.identifier.back() == '7'; };
    node_.publish();
    EXPECT_EQ(world_->held().size(), 900U);
    EXPECT_EQ(publisher().counts().refused, 100U);
}

TEST_F(RefusedRowsTest, AStoreThatRefusesAllRowsIsLeftAloneUntilTheNextTick) {
    for (int i = 0; i < 1'000; ++i)
        node_.spend("k" + std::to_string(i), 6);
    node_.store.refuses = [](const RegionCount&) { return true; };
    node_.publish();
    EXPECT_EQ(publisher().counts().refused, 32U);
    EXPECT_LE(publisher().counts().failures, 80U);
    EXPECT_EQ(node_.global_sync.publish_breaker().last_failure(), "scripted");
    node_.publish();
    EXPECT_EQ(node_.global_sync.publish_breaker().last_failure(), "scripted");
    node_.store.refuses = nullptr;
    node_.publish();
    EXPECT_EQ(world_->held().size(), 1'000U - 64);
    EXPECT_FALSE(node_.global_sync.publish_breaker().last_failure());
}

TEST_F(RefusedRowsTest, ARefusedRowIsTriedAgainWhenItsCountGrows) {
    node_.spend("k", 6);
    refuse("k");
    node_.publish();
    EXPECT_EQ(publisher().counts().refused, 1U);
    node_.store.refuses = nullptr;
    node_.spend("k", 0);
    node_.publish();
    for (int i = 0; i < 2 * Publisher::kRepublishEvery; ++i)
        node_.tick();
    EXPECT_FALSE(holds("k"));
    node_.spend("k", 1);
    node_.publish();
    EXPECT_EQ(world_->held().begin()->second.at("a").count, 7U);
}

TEST_F(RefusedRowsTest, AnEarlierCountOfTheRowStaysPublished) {
    node_.spend("k", 6);
    node_.publish();
    refuse("k");
    node_.spend("k", 1);
    node_.publish();
    EXPECT_EQ(publisher().counts().refused, 1U);
    node_.store.refuses = nullptr;
    world_->restore({});
    node_.tick();
    EXPECT_EQ(world_->held().begin()->second.at("a").count, 6U);
}

TEST_F(RefusedRowsTest, AConnectionThatIsLostInBetweenLosesNoRow) {
    for (int i = 0; i < 1'500; ++i)
        node_.spend("k" + std::to_string(i), 6);
    refuse("k77");
    node_.store.failures = {Kind::kRows, Kind::kLost, Kind::kRows, Kind::kBusy};
    node_.publish();
    EXPECT_EQ(world_->held().size(), 1'499U);
    EXPECT_EQ(publisher().counts().refused, 1U);
}

TEST_F(RefusedRowsTest, ALockedRowDelaysNoOthers) {
    for (int i = 0; i < 2'500; ++i)
        node_.spend("k" + std::to_string(10'000 + i), 6);
    node_.store.locked = [](const RegionCount& row) { return row.cell.identifier == "k10000"; };
    // A call that waits for a lock takes half of the tick.
    const auto run_tick = [&] {
        node_.global_sync.offer_changes();
        publisher().tick_now(clock_.now);
        while (const auto call = publisher().next(clock_.now, clock_.wall)) {
            const auto end = node_.store.publish(call->rows, [](const RegionRow&) {});
            if (std::holds_alternative<StoreFailure>(end)) clock_.advance(seconds{5});
            node_.global_sync.answered(end, 1, clock_.now);
            if (publisher().wake_at() > clock_.now + seconds{4}) break;
            clock_.advance(std::chrono::ceil<std::chrono::milliseconds>(
                std::max(publisher().wake_at() - clock_.now, {})));
        }
    };
    run_tick();
    EXPECT_EQ(world_->held().size(), 2'000U) << "half of the chunk with the locked row waits";
    EXPECT_FALSE(holds("k10000"));
    for (int i = 0; i < 6; ++i)
        run_tick();
    EXPECT_EQ(world_->held().size(), 2'499U);
    node_.store.locked = nullptr;
    run_tick();
    EXPECT_TRUE(holds("k10000"));
    EXPECT_TRUE(publisher().is_idle());
}

// As rows that take longer to write than the caller waits.
TEST_F(RefusedRowsTest, AChunkThatIsLostInEachTickDelaysNoOthers) {
    for (int i = 0; i < 1'500; ++i)
        node_.spend("k" + std::to_string(10'000 + i), 6);
    node_.global_sync.offer_changes();
    for (int i = 0; i < 2; ++i) {
        publisher().tick_now(clock_.now);
        auto call = publisher().next(clock_.now, clock_.wall);
        while (call && call->rows.front().cell.identifier != "k10000") {
            node_.make_call(*call);
            call = publisher().next(clock_.now, clock_.wall);
        }
        ASSERT_TRUE(call);
        clock_.advance(kGlobalInterval);
        publisher().answered(StoreFailure{Kind::kLost, "scripted"}, 1, clock_.now);
    }
    EXPECT_EQ(world_->held().size(), 500U);
}

TEST_F(RefusedRowsTest, FailuresToPublishDontStopImports) {
    other_.spend("k", 6);
    other_.publish();
    clock_.advance(seconds{60});  // the breaker has forgotten the calls that succeeded
    node_.spend("mine", 6);
    node_.store.failures.assign(5, Kind::kLost);
    node_.publish();
    ASSERT_EQ(node_.global_sync.publish_breaker().state(clock_.now), Breaker::State::kOpen);
    EXPECT_EQ(node_.global_sync.import_breaker().state(clock_.now), Breaker::State::kClosed);
    const std::size_t imports = node_.store.imports.size();
    node_.import();
    EXPECT_EQ(node_.store.imports.size(), imports + 2) << "the one at the start, and a tick";
    EXPECT_EQ(node_.global("k"), 6U);
    EXPECT_TRUE(node_.global_sync.publish_breaker().last_failure());
    EXPECT_FALSE(node_.global_sync.import_breaker().last_failure());
}

TEST_F(RefusedRowsTest, FailedImportsDontStopPublishing) {
    for (int i = 0; i < 5; ++i) {
        node_.store.failures = {Kind::kLost};
        node_.import();
    }
    ASSERT_EQ(node_.global_sync.import_breaker().state(clock_.now), Breaker::State::kOpen);
    node_.spend("k", 6);
    node_.publish();
    EXPECT_TRUE(holds("k"));
    EXPECT_FALSE(node_.global_sync.publish_breaker().last_failure());
}

// Other regions would import them too late.
TEST_F(RefusedRowsTest, CellsThatAreDeadBeforeTheNextTickAreNotPublished) {
    for (const int duration : {1, 2, 5}) {
        node_.duration = seconds{duration};
        node_.spend("k", 10);
        node_.publish();
    }
    EXPECT_TRUE(world_->held().empty());
    EXPECT_EQ(publisher().counts().given_up, 0U);
    EXPECT_TRUE(publisher().is_idle());
    node_.duration = seconds{10};
    clock_.advance(seconds{10} - clock_.wall.time_since_epoch() % seconds{10});
    node_.spend("k", 10);
    node_.publish();
    EXPECT_EQ(world_->held().size(), 1U);
}

TEST_F(RefusedRowsTest, ThePreviousWindowIsPublishedUntilAnIntervalBeforeItCeasesToMatter) {
    for (GlobalNode* node : {&node_, &other_}) {
        node->duration = seconds{60};
        node->spend(node == &node_ ? "early" : "late", 10);
        node->store.failures = {Kind::kRefused};
        node->publish();
    }
    clock_.advance(seconds{120} - kGlobalInterval - seconds{1} -
                   clock_.wall.time_since_epoch() % seconds{60});
    node_.publish();
    EXPECT_TRUE(holds("early"));
    clock_.advance(seconds{1});
    other_.publish();
    EXPECT_FALSE(holds("late"));
    EXPECT_EQ(other_.global_sync.publisher().counts().given_up, 1U);
}

}  // namespace
}  // namespace sluice
