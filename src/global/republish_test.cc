// Publishing again of rows that a store has acknowledged and lost.
#include <algorithm>

#include <gtest/gtest.h>

#include "global/global_fixture.h"

namespace sluice {
namespace {

using Kind = StoreFailure::Kind;
using std::chrono::seconds;

class RepublishTest : public testing::Test {
  protected:
    Count row(const std::string& identifier) {
        for (const auto& [name, components] : world_->held()) {
            if (name.identifier != identifier) continue;
            const auto found = components.find("a");
            return found == components.end() ? 0 : found->second.count;
        }
        return 0;
    }
    std::uint64_t store_connections() { return node_.store.connections(); }
    bool is_waiting_for_next_tick() {
        return node_.global_sync.publisher().wake_at() > clock_.now + seconds{4};
    }
    std::uint64_t republishes() { return node_.global_sync.publisher().counts().republishes; }

    GlobalNode::Clock clock_;
    std::shared_ptr<MemoryWorld> world_ = MemoryWorld::create([this] { return clock_.wall; });
    GlobalNode node_{clock_, world_, "a"};
};

// Its keys are at their limits: they are denied, and don't grow any more.
TEST_F(RepublishTest, RowsLostInAFailoverAreBackAfterTheNextTick) {
    node_.spend("early", 10);
    node_.tick();
    const MemoryWorld::Cells replica = world_->held();
    for (int i = 0; i < 1'500; ++i)
        node_.spend("k" + std::to_string(i), 10);
    node_.tick();
    ASSERT_EQ(row("k7"), 10U);
    world_->restore(replica);
    ASSERT_EQ(row("k7"), 0U);
    node_.tick();
    EXPECT_EQ(world_->held().size(), 1'501U);
    EXPECT_EQ(row("k7"), 10U);
    EXPECT_EQ(republishes(), 1U);
}

TEST_F(RepublishTest, ALostConnectionIsNoticedByATickWithoutRows) {
    node_.spend("k", 10);
    node_.tick();
    world_->restore({});
    node_.store.connection = 1;
    node_.store.failures = {Kind::kLost};
    node_.tick();
    EXPECT_TRUE(node_.store.failures.empty());
    node_.store.connection.reset();
    node_.tick();
    EXPECT_EQ(row("k"), 10U);
}

TEST_F(RepublishTest, NothingIsPublishedAgainWhileTheConnectionStays) {
    node_.spend("k", 10);
    for (int i = 0; i < Publisher::kRepublishEvery - 1; ++i)
        node_.tick();
    EXPECT_EQ(node_.store.rows(), 1U);
    EXPECT_EQ(node_.store.round_trips, Publisher::kRepublishEvery - 2U);
    EXPECT_EQ(republishes(), 0U);
}

TEST_F(RepublishTest, RowsThatHaveGrownGoBeforeThoseThatAreOnlyRepeated) {
    for (int i = 0; i < 3'000; ++i)
        node_.spend("k" + std::to_string(10'000 + i), 10, 20);
    node_.tick();
    node_.store.published.clear();
    Publisher& publisher = node_.global_sync.publisher();
    clock_.advance(std::chrono::ceil<std::chrono::milliseconds>(publisher.wake_at() - clock_.now));
    for (int i = 2'000; i < 2'500; ++i)
        node_.spend("k" + std::to_string(10'000 + i), 6, 20);
    world_->restore(world_->held());
    // The first call finds out about the new connection, so that all rows wait.
    node_.global_sync.offer_changes();
    auto call = publisher.next(clock_.now, clock_.wall);
    ASSERT_TRUE(call);
    publisher.answered(StoreFailure{Kind::kLost, "scripted"}, store_connections(), clock_.now);
    int chunks = 0;
    for (; chunks < 100 && !is_waiting_for_next_tick(); ++chunks) {
        clock_.advance(
            std::max(std::chrono::ceil<std::chrono::milliseconds>(publisher.wake_at() - clock_.now),
                     std::chrono::milliseconds{0}));
        call = publisher.next(clock_.now, clock_.wall);
        ASSERT_TRUE(call);
        const auto end = node_.store.publish(call->rows, [](const RegionRow&) {});
        clock_.advance(seconds{4});
        node_.global_sync.answered(end, store_connections(), clock_.now);
    }
    ASSERT_EQ(node_.store.published.size(), 2U) << "an interval has passed";
    EXPECT_EQ(row("k12000"), 16U);
    EXPECT_EQ(row("k12499"), 16U);
    for (const auto& chunk : node_.store.published)
        EXPECT_TRUE(std::ranges::is_sorted(chunk, {}, &RegionCount::cell));
    EXPECT_FALSE(publisher.is_idle()) << "the others are still queued";
    node_.tick();
    EXPECT_TRUE(publisher.is_idle());
}

// As behind a proxy, which keeps its connections to its clients.
TEST_F(RepublishTest, RowsLostWithoutANewConnectionAreBackAfterTheTwelfthTick) {
    node_.spend("k", 10);
    node_.tick();
    world_->restore({});
    node_.store.connection = 1;
    int ticks = 0;
    for (; row("k") == 0 && ticks < 50; ++ticks)
        node_.tick();
    EXPECT_EQ(row("k"), 10U);
    EXPECT_LE(ticks, Publisher::kRepublishEvery);
    // From then on, every twelfth tick.
    node_.store.published.clear();
    for (int i = 0; i < 3 * Publisher::kRepublishEvery; ++i)
        node_.tick();
    EXPECT_EQ(node_.store.rows(), 3U);
}

TEST_F(RepublishTest, DeadRowsAreNotPublishedAgain) {
    node_.spend("old", 10);
    node_.tick();
    clock_.advance(node_.duration);
    node_.spend("new", 10);
    node_.tick();
    clock_.advance(node_.duration);
    world_->restore({});
    node_.tick();
    EXPECT_EQ(row("old"), 0U);
    EXPECT_EQ(row("new"), 10U);
    EXPECT_EQ(node_.global_sync.publisher().counts().given_up, 0U);
}

TEST_F(RepublishTest, ARowThatIsUnchangedInTheStoreKeepsItsTime) {
    node_.spend("k", 10);
    node_.tick();
    const UnixTime then = world_->held().begin()->second.at("a").updated_at;
    for (int i = 0; i < Publisher::kRepublishEvery; ++i)
        node_.tick();
    EXPECT_EQ(node_.store.rows(), 2U);
    EXPECT_EQ(world_->held().begin()->second.at("a").updated_at, then);
}

TEST_F(RepublishTest, ReconnectsWithoutASuccessfulCallAreNotCounted) {
    node_.spend("k", 10);
    node_.tick();
    for (int i = 0; i < 3; ++i) {
        node_.store.connection = 2 + i;
        node_.store.failures = {Kind::kRefused};
        node_.tick();
    }
    EXPECT_EQ(republishes(), 0U);
    node_.tick();
    EXPECT_EQ(republishes(), 1U);
}

TEST_F(RepublishTest, TheFailedCallsOfAnOutageAreFollowedByOneRepublish) {
    node_.spend("k", 10);
    node_.tick();
    world_->restore({});
    node_.store.failures = {Kind::kLost, Kind::kLost, Kind::kBusy};
    node_.tick();
    EXPECT_EQ(row("k"), 10U);
    EXPECT_EQ(republishes(), 1U);
}

}  // namespace
}  // namespace sluice
