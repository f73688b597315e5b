// Availability of the origin, and the count of nodes.
#include "regional/region.h"

#include "regional/region_fixture.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using RegionTest = RegionFixture;

TEST_F(RegionTest, AnOriginThatFailsEveryCallAtOnceIsUnavailable) {
    know_nodes();
    origin_.is_silent = true;  // no heartbeat is answered either
    for (int i = 0; i < 60; ++i) {
        spend("a", 1'000'000);
        run_until_idle();
        while (!origin_.spends.empty())
            lose_spend_answer();
        pass_time(100ms);
    }
    EXPECT_TRUE(region_.is_unavailable());
}

TEST_F(RegionTest, LetsTheOriginDecideEverythingUntilItsPeersHaveCountedThisNode) {
    run_until_idle();
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    pass_time(2'900ms);
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    pass_time(1'200ms);
    EXPECT_EQ(table_->nodes(), 2U);
    origin_.nodes = 7;
    pass_time(1'100ms);
    EXPECT_EQ(table_->nodes(), 7U);
    origin_.is_silent = true;
    pass_time(3'100ms);
    EXPECT_EQ(table_->nodes(), kUnknownNodes) << "the count is too old";
}

// A node without traffic notices by them that the origin has lost its data.
TEST_F(RegionTest, SendsFourHeartbeatsASecond) {
    know_nodes();
    const int before = origin_.beats;
    pass_time(1'000ms);
    EXPECT_EQ(origin_.beats - before, 4);
}

TEST_F(RegionTest, ReliesOnACountOfNodesForThreeSeconds) {
    know_nodes();
    ASSERT_EQ(table_->nodes(), 2U);
    origin_.is_silent = true;
    pass_time(1'900ms);
    EXPECT_EQ(table_->nodes(), 2U);
    pass_time(1'100ms);
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    origin_.is_silent = false;
    origin_.silent_beats.back()(std::nullopt);
    pass_time(3'000ms);
    EXPECT_EQ(table_->nodes(), kUnknownNodes) << "peers may have dropped this node";
    pass_time(1'000ms);
    EXPECT_EQ(table_->nodes(), 2U);
}

TEST_F(RegionTest, UsesALowerCountOfNodesAfterThreeSeconds) {
    know_nodes();
    origin_.nodes = 1;
    pass_time(1'900ms);
    EXPECT_EQ(table_->nodes(), 2U) << "the origin may have lost the peers' heartbeats";
    pass_time(2'200ms);
    EXPECT_EQ(table_->nodes(), 1U);
    origin_.nodes = 3;
    pass_time(1'100ms);
    EXPECT_EQ(table_->nodes(), 3U) << "a higher one at once";
}

TEST_F(RegionTest, UsesALowerCountOfNodesLaterAlsoAfterUnansweredHeartbeats) {
    know_nodes();
    origin_.is_silent = true;
    pass_time(1'100ms);
    origin_.is_silent = false;
    origin_.nodes = 1;  // the origin has lost the heartbeats just now
    origin_.silent_beats.back()(std::nullopt);
    pass_time(2'900ms);
    EXPECT_EQ(table_->nodes(), 2U) << "the other node may not have sent one since";
    pass_time(1'100ms);
    EXPECT_EQ(table_->nodes(), 1U);
}

TEST_F(RegionTest, UsesTheHighestOfTheLowerCountsOfTheLastThreeSeconds) {
    origin_.nodes = 3;
    know_nodes();
    ASSERT_EQ(table_->nodes(), 3U);
    origin_.nodes = 2;  // one node has stopped
    pass_time(2'900ms);
    EXPECT_EQ(table_->nodes(), 3U);
    origin_.nodes = 1;  // the origin has lost the heartbeats just now
    pass_time(1'200ms);
    EXPECT_EQ(table_->nodes(), 2U) << "the other node may not have sent one since";
    pass_time(4'100ms);
    EXPECT_EQ(table_->nodes(), 1U);
}

TEST_F(RegionTest, CountsTheNodesAgainWhenTheOriginHasLostData) {
    know_nodes();
    origin_.events.data_lost();
    EXPECT_EQ(table_->nodes(), kUnknownNodes);
    pass_time(3'100ms);
    EXPECT_EQ(table_->nodes(), 2U);
}

TEST_F(RegionTest, IsUnavailableWhileTheOriginRefusesWrites) {
    know_nodes();
    origin_.is_silent = true;
    origin_.events.write_refused("OOM command not allowed");
    EXPECT_TRUE(region_.is_unavailable());
    EXPECT_EQ(changes_.back(), "it refuses writes; OOM command not allowed");
    spend("a", 10);
    EXPECT_EQ(verdicts_.back(), "unanswered") << "at once";
    origin_.is_silent = false;
    for (auto& beaten : std::exchange(origin_.silent_beats, {}))
        beaten(std::nullopt);
    pass_time(600ms);
    EXPECT_FALSE(region_.is_unavailable());
    EXPECT_EQ(changes_.back(), "available");
    EXPECT_EQ(region_.stats().outages, 1U);
}

TEST_F(RegionTest, IsUnavailableWhileItIsNotConnected) {
    know_nodes();
    origin_.events.unavailable("connection refused");
    EXPECT_TRUE(region_.is_unavailable());
    EXPECT_EQ(changes_.back(), "connection refused");
    table_->set_nodes(2);
    pass("a");
    pass_time(10'000ms);
    EXPECT_TRUE(origin_.syncs.empty());
    EXPECT_GT(region_.stats().oldest_unsynced, 9'000ms);
    origin_.events.available(true);
    run_until_idle();
    ASSERT_EQ(origin_.syncs.size(), 1U) << "due keys are flushed at once";
    origin_.answer_sync();
    EXPECT_EQ(at_origin("a").own, 1U);
}

TEST_F(RegionTest, ReportsAClockThatDiffersByMoreThanASecondOnce) {
    origin_.offset = Duration{-1'500};
    pass_time(5'000ms);
    EXPECT_EQ(offsets_, std::vector{-1'500ms});
    EXPECT_EQ(region_.stats().clock_offset, -1'500ms);
}

}  // namespace
}  // namespace sluice
