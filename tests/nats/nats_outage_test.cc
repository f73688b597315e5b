// A NATS server that is killed, stopped, or not there yet.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "nats/members.h"
#include "support/nats_server.h"

namespace sluice::nats_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(NatsOutage, AKilledServerIsNoticedAndItsReturnToo) {
    NatsServer server;
    BusMember eu(server.url(), "eu");
    BusMember us(server.url(), "us");
    ASSERT_TRUE(eu.connects() && us.connects());
    server.kill();
    EXPECT_TRUE(eventually([&] { return !eu.is_connected(); }));
    EXPECT_NE(eu.problem().find(server.address() + ": "), std::string::npos) << eu.problem();
    EXPECT_FALSE(eu.send({count_of("lost", 1)}));
    EXPECT_EQ(eu.counts().announcements_unsent, 1U);
    EXPECT_TRUE(eventually([&] {
        return eu.problem() == server.address() + ": No server available for connection";
    })) << eu.problem();

    server.start();
    const auto back = steady_clock::now();
    EXPECT_TRUE(eu.connects() && us.connects());
    EXPECT_LT(steady_clock::now() - back, milliseconds(8'000));
    EXPECT_EQ(eu.problem(), "");
    EXPECT_EQ(eu.counts().reconnects, 1U);
    EXPECT_TRUE(eu.send({count_of("a", 2)}));
    EXPECT_TRUE(eventually([&] { return us.received("eu", "a") == 2; }));
    EXPECT_EQ(us.received("eu", "lost"), 0U);
}

TEST(NatsOutage, AServerMayAppearLater) {
    NatsServer server({.starts = false});
    const auto begin = steady_clock::now();
    BusMember eu(server.url(), "eu");
    EXPECT_LT(steady_clock::now() - begin, milliseconds(500)) << "opening must not wait";
    EXPECT_FALSE(eu.send({count_of("early", 1)}));
    EXPECT_TRUE(eventually([&] { return !eu.problem().empty(); }));
    EXPECT_FALSE(eu.is_connected());
    server.start();
    EXPECT_TRUE(eu.connects());
    EXPECT_EQ(eu.counts().reconnects, 0U);
}

TEST(NatsOutage, OneOfTwoServersIsEnough) {
    NatsServer server;
    const std::string dead = dead_address();
    for (std::uint64_t seed : {0U, 1U}) {  // begins with either
        NatsBusOptions options = options_for("nats://" + dead + "," + server.address(), "eu");
        options.seed = seed;
        BusMember eu(options);
        EXPECT_TRUE(eu.connects()) << eu.problem();
    }
    BusMember unreachable("nats://" + dead + "," + dead_address(), "eu");
    EXPECT_TRUE(eventually([&] { return unreachable.problem().find("; ") != std::string::npos; }))
        << unreachable.problem();
}

// The time of the slowest of many sends.
milliseconds slowest_send(BusMember& member, milliseconds time, const std::string& padding) {
    steady_clock::duration slowest{0};
    std::vector<RegionCount> counts;
    for (int i = 0; i < 100; ++i)
        counts.push_back(count_of(std::to_string(100 + i) + padding, 1));
    const auto end = steady_clock::now() + time;
    while (steady_clock::now() < end) {
        const auto begin = steady_clock::now();
        static_cast<void>(member.send(counts));
        slowest = std::max(slowest, steady_clock::now() - begin);
        std::this_thread::sleep_for(milliseconds(1));
    }
    return std::chrono::duration_cast<milliseconds>(slowest);
}

TEST(NatsOutage, AStoppedServerDelaysNoSend) {
    NatsServer server;
    NatsBusOptions options = options_for(server.url(), "eu");
    options.most_queued_bytes = 256 * 1024;
    BusMember eu(options);
    ASSERT_TRUE(eu.connects());
    const std::string padding(200, 'x');
    const milliseconds usual = slowest_send(eu, milliseconds(500), padding);
    server.pause();
    const milliseconds stopped = slowest_send(eu, milliseconds(8'000), padding);
    RecordProperty("usual_ms", static_cast<int>(usual.count()));
    RecordProperty("stopped_ms", static_cast<int>(stopped.count()));
    // The library's own calls block for two seconds here.
    EXPECT_LT(stopped, std::max(20 * usual, milliseconds(500))) << "usual " << usual.count();
    EXPECT_TRUE(eventually([&] { return !eu.is_connected(); })) << "noticed by its silence";
    EXPECT_NE(eu.problem(), "");
    EXPECT_GT(eu.counts().announcements_overflowed, 0U);
    EXPECT_GT(eu.counts().announcements_unsent, 0U);
    server.resume();
    EXPECT_TRUE(eu.connects()) << eu.problem();
    EXPECT_GE(eu.counts().reconnects, 1U);
}

TEST(NatsOutage, OverflowDropsTheOldest) {
    NatsServer server;
    NatsBusOptions options = options_for(server.url(), "eu");
    options.most_queued_bytes = 128 * 1024;
    BusMember eu(options);
    BusMember us(server.url(), "us");
    ASSERT_TRUE(eu.connects() && us.connects());
    server.pause();
    // Fills the socket, too. A write that takes two seconds would lose the connection.
    const auto end = steady_clock::now() + milliseconds(1'000);
    std::vector<RegionCount> counts;
    for (int i = 0; i < 250; ++i)
        counts.push_back(count_of(std::to_string(100 + i) + std::string(200, 'x'), 1));
    while (eu.counts().announcements_overflowed < 1'000 && steady_clock::now() < end)
        EXPECT_TRUE(eu.send(counts));
    ASSERT_GE(eu.counts().announcements_overflowed, 1'000U);
    counts.push_back(count_of("newest", 1));  // the queue has no room for such a message
    EXPECT_TRUE(eu.send(counts));
    server.resume();
    EXPECT_TRUE(eventually([&] { return us.received("eu", "newest") == 1; }));
    EXPECT_EQ(eu.counts().reconnects, 0U);
}

TEST(NatsOutage, AnIdleMemberNoticesAStoppedServer) {
    NatsServer server;
    BusMember eu(server.url(), "eu");
    ASSERT_TRUE(eu.connects());
    server.pause();
    const auto begin = steady_clock::now();
    EXPECT_TRUE(eventually([&] { return !eu.is_connected(); }));
    EXPECT_LT(steady_clock::now() - begin, milliseconds(12'000));
    EXPECT_NE(eu.problem(), "");
    server.resume();
}

TEST(NatsOutage, ASlowReceiverDropsAndCounts) {
    NatsServer server;
    std::atomic<bool> is_blocked{true};
    BusMember us(server.url(), "us");
    us.on_receive = [&] {
        while (is_blocked)
            std::this_thread::sleep_for(milliseconds(1));
    };
    BusMember eu(server.url(), "eu");
    ASSERT_TRUE(eu.connects() && us.connects());
    for (Count i = 1; i <= 6'000; ++i)
        EXPECT_TRUE(eu.send({count_of("a", i)}));
    EXPECT_TRUE(eventually([&] { return us.counts().receive_overflowed > 1'000; }))
        << us.counts().receive_overflowed;
    is_blocked = false;
    // What arrives before the receiver has caught up is dropped, too.
    EXPECT_TRUE(eventually([&] {
        static_cast<void>(eu.send({count_of("a", 7'000)}));
        return us.received("eu", "a") == 7'000;
    }));
    EXPECT_TRUE(us.is_connected());
}

TEST(NatsOutage, ClosingDoesNotWaitForADeadServer) {
    NatsServer server;
    BusMember eu(server.url(), "eu");
    ASSERT_TRUE(eu.connects());
    server.pause();
    const auto begin = steady_clock::now();
    eu.bus().close();
    EXPECT_LT(steady_clock::now() - begin, milliseconds(4'000));
}

}  // namespace
}  // namespace sluice::nats_test
