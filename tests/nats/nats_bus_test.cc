// Members of a bus over a real NATS server.
#include <atomic>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "global/announcement_codec.h"
#include "nats/members.h"
#include "support/nats_server.h"

namespace sluice::nats_test {
namespace {

class NatsBusTest : public testing::Test {
  protected:
    NatsServer server_;
};

TEST_F(NatsBusTest, CarriesCountsBetweenRegions) {
    BusMember eu(server_.url(), "eu");
    BusMember us(server_.url(), "us");
    ASSERT_TRUE(eu.connects() && us.connects()) << eu.problem() << us.problem();
    EXPECT_TRUE(eu.send({count_of("alice", 3), count_of("bob", 4)}));
    EXPECT_TRUE(us.send({count_of("alice", 5)}));
    EXPECT_TRUE(eventually([&] { return us.received("eu", "bob") == 4; }));
    EXPECT_TRUE(eventually([&] { return eu.received("us", "alice") == 5; }));
    EXPECT_EQ(us.received("eu", "alice"), 3U);
    EXPECT_EQ(eu.received("eu", "alice"), 0U) << "its own echo";
    EXPECT_EQ(eu.counts().messages_sent, 1U);
    EXPECT_EQ(eu.counts().announcements_sent, 2U);
    EXPECT_EQ(us.counts().announcements_received, 2U);
    EXPECT_EQ(eu.counts().reconnects, 0U);
    EXPECT_EQ(eu.problem(), "");
}

TEST_F(NatsBusTest, CountsAndKeepsApartWhatPeersAnnounce) {
    BusMember eu(server_.url(), "eu");
    BusMember peer(server_.url(), "eu");
    ASSERT_TRUE(eu.connects() && peer.connects());
    EXPECT_TRUE(eu.send({count_of("alice", 3)}));
    EXPECT_TRUE(eventually([&] { return peer.received_from_peer("eu", "alice") == 3; }));
    EXPECT_EQ(peer.received("eu", "alice"), 0U);
    EXPECT_EQ(peer.counts().announcements_received, 0U);
    EXPECT_GE(peer.counts().own_region, 1U);  // and perhaps a greeting
}

// An exception must not pass through the client library, which calls on a thread of its own.
TEST_F(NatsBusTest, SurvivesAReceiverWithoutMemory) {
    std::atomic<int> failures{0};
    std::atomic<Count> received{0};
    NatsBusOptions options = options_for(server_.url(), "us");
    options.on_thread_failure = [&](const ThreadFailure&) { ++failures; };
    const auto receive = [&](const BusMessage& message) {
        if (message.counts.empty()) return;  // a greeting
        if (failures == 0) throw std::bad_alloc();
        received = message.counts.front().count;
    };
    const auto us =
        *NatsBus::open(std::move(options), {.other_region = receive, .own_region = receive});
    BusMember eu(server_.url(), "eu");
    ASSERT_TRUE(eu.connects() && eventually([&] { return us->status().is_connected; }));
    EXPECT_TRUE(eu.send({count_of("alice", 3)}));
    EXPECT_TRUE(eventually([&] { return failures == 1; }));
    EXPECT_TRUE(eu.send({count_of("alice", 4)}));
    EXPECT_TRUE(eventually([&] { return received == 4U; }));
}

TEST_F(NatsBusTest, SplitsLargeBatches) {
    BusMember eu(server_.url(), "eu");
    BusMember us(server_.url(), "us");
    ASSERT_TRUE(eu.connects() && us.connects());
    std::vector<RegionCount> counts;
    for (int i = 0; i < 3'000; ++i)
        counts.push_back(count_of(std::to_string(i), 1, "w" + std::to_string(i % 3)));
    EXPECT_TRUE(eu.send(counts));
    EXPECT_TRUE(eventually([&] { return us.cells_received() == 3'000; })) << us.cells_received();
    EXPECT_EQ(eu.counts().messages_sent, 6U);
}

TEST_F(NatsBusTest, DropsAndCountsMalformedAndForeignMessages) {
    BusMember eu(server_.url(), "eu");
    ASSERT_TRUE(eu.connects());
    RawClient raw(server_.url());
    raw.publish("sluice.v1.00", "hello");
    raw.publish("sluice.v1.7f", "");
    raw.publish("sluice.v1.any", std::string(900'000, 'x'));
    raw.publish("sluice.v1.00", "SL\x02 from the future");
    raw.publish("sluice.v2.00", "hello");  // not subscribed to
    EXPECT_TRUE(eventually([&] { return eu.counts().foreign_version == 1; }));
    EXPECT_EQ(eu.counts().malformed, 3U);
    EXPECT_EQ(eu.counts().messages_received, 0U);
    raw.publish("sluice.v1.00", encode_announcements("us", {count_of("a", 1)}).front().bytes);
    EXPECT_TRUE(eventually([&] { return eu.received("us", "a") == 1; }));
    EXPECT_TRUE(eu.is_connected());
}

TEST_F(NatsBusTest, ReceivesTheShardsOfItsWorkspacesAlone) {
    ASSERT_NE(shard_of("mine"), shard_of("other"));
    NatsBusOptions some = options_for(server_.url(), "us");
    some.workspaces = {"mine", "mine too"};
    BusMember us(some);
    BusMember all(server_.url(), "asia");
    BusMember eu(server_.url(), "eu");
    ASSERT_TRUE(eu.connects() && us.connects() && all.connects());
    EXPECT_TRUE(eu.send(
        {count_of("a", 1, "mine"), count_of("b", 2, "other"), count_of("c", 3, "mine too")}));
    EXPECT_TRUE(eventually([&] { return all.cells_received() == 3; }));
    EXPECT_TRUE(eventually([&] { return us.cells_received() == 2; }));
    EXPECT_EQ(us.received("eu", "b"), 0U);
}

TEST_F(NatsBusTest, AClosedMemberReceivesNothing) {
    BusMember eu(server_.url(), "eu");
    BusMember us(server_.url(), "us");
    BusMember asia(server_.url(), "asia");
    ASSERT_TRUE(eu.connects() && us.connects() && asia.connects());
    us.bus().close();
    EXPECT_TRUE(eu.send({count_of("a", 1)}));
    EXPECT_TRUE(eventually([&] { return asia.received("eu", "a") == 1; }));
    EXPECT_EQ(us.cells_received(), 0U);
}

TEST_F(NatsBusTest, HasASubjectPerShard) {
    EXPECT_EQ(subject_of(0), "sluice.v1.00");
    EXPECT_EQ(subject_of(0x7f), "sluice.v1.7f");
    EXPECT_EQ(subject_of(255), "sluice.v1.ff");
}

}  // namespace
}  // namespace sluice::nats_test
