#include "global/memory_bus.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;

RegionCount count_of(std::string identifier, Count count) {
    return {.cell = {.workspace = "w",
                     .name_space = "n",
                     .identifier = std::move(identifier),
                     .duration = Duration{60'000},
                     .sequence = 7},
            .count = count};
}

// A member that records what it receives, as in "eu:a=3 ".
struct Recorder {
    Recorder(MemoryBus& bus, const std::string& region)
        : member(bus.join(region,
                          {.other_region = [this](const BusMessage& m) { add(m, others); },
                           .own_region = [this](const BusMessage& m) { add(m, peers); }})) {}

    static void add(const BusMessage& message, std::string& text) {
        for (const RegionCount& count : message.counts)
            text += message.region + ":" + count.cell.identifier + "=" +
                    std::to_string(count.count) + " ";
    }
    bool send(std::string identifier, Count count) const {
        const std::vector<RegionCount> counts{count_of(std::move(identifier), count)};
        return member->send(counts);
    }

    std::string others;
    std::string peers;
    std::unique_ptr<Bus> member;
};

TEST(MemoryBusTest, DeliversToOtherRegionsAndKeepsTheOwnApart) {
    const auto bus = MemoryBus::create();
    const Recorder eu(*bus, "eu");
    const Recorder peer(*bus, "eu");
    const Recorder us(*bus, "us");
    EXPECT_TRUE(eu.send("a", 3));
    EXPECT_EQ(us.others, "eu:a=3 ");
    EXPECT_EQ(us.peers, "");
    EXPECT_EQ(peer.others, "");
    EXPECT_EQ(peer.peers, "eu:a=3 ");
    EXPECT_EQ(eu.others, "") << "its own echo";
    EXPECT_EQ(eu.member->counts().own_region, 1U);
    EXPECT_EQ(eu.member->counts().messages_sent, 1U);
    EXPECT_EQ(eu.member->counts().announcements_sent, 1U);
    EXPECT_EQ(us.member->counts().messages_received, 1U);
    EXPECT_EQ(us.member->counts().announcements_received, 1U);
    EXPECT_EQ(us.member->counts().own_region, 0U);
}

TEST(MemoryBusTest, DropsAndCountsWhatIsMalformedOrForeign) {
    const auto bus = MemoryBus::create();
    const Recorder eu(*bus, "eu");
    bus->inject("hello");
    bus->inject("SL\x02 from the future");
    EXPECT_EQ(eu.member->counts().malformed, 1U);
    EXPECT_EQ(eu.member->counts().foreign_version, 1U);
    EXPECT_EQ(eu.member->counts().messages_received, 0U);
    EXPECT_EQ(eu.others, "");
}

TEST(MemoryBusTest, ARouteLosesRepeatsDelaysAndReorders) {
    std::vector<milliseconds> delays;
    const auto bus = MemoryBus::create([&](const MemoryBus::Hop& hop) {
        return hop.to == "us" ? delays : std::vector<milliseconds>{};
    });
    const MemoryBus::Time start{std::chrono::hours(1)};
    bus->step(start);
    const Recorder eu(*bus, "eu");
    const Recorder us(*bus, "us");
    const Recorder asia(*bus, "asia");
    EXPECT_TRUE(eu.send("lost", 1));
    EXPECT_EQ(bus->wake_at(), MemoryBus::Time::max());
    delays = {milliseconds(100)};
    EXPECT_TRUE(eu.send("slow", 1));
    delays = {milliseconds(10), milliseconds(50)};
    EXPECT_TRUE(eu.send("twice", 1));
    EXPECT_EQ(bus->wake_at(), start + milliseconds(10));
    bus->step(start + milliseconds(9));
    EXPECT_EQ(us.others, "");
    bus->step(start + milliseconds(10));
    EXPECT_EQ(us.others, "eu:twice=1 ");
    bus->step(start + milliseconds(100));
    EXPECT_EQ(us.others, "eu:twice=1 eu:twice=1 eu:slow=1 ");
    EXPECT_EQ(asia.others, "");
}

TEST(MemoryBusTest, AnOutageDropsAndCounts) {
    const auto bus = MemoryBus::create();
    const Recorder eu(*bus, "eu");
    const Recorder us(*bus, "us");
    EXPECT_TRUE(eu.member->status().is_connected);
    bus->set_outage("no route to host");
    EXPECT_FALSE(eu.member->status().is_connected);
    EXPECT_EQ(eu.member->status().problem, "no route to host");
    EXPECT_FALSE(eu.send("a", 1));
    bus->set_outage(std::nullopt);
    EXPECT_TRUE(eu.send("b", 1));
    EXPECT_EQ(us.others, "eu:b=1 ");
    EXPECT_EQ(eu.member->counts().announcements_unsent, 1U);
    EXPECT_EQ(eu.member->counts().reconnects, 1U);
    EXPECT_EQ(eu.member->status().problem, "");
}

TEST(MemoryBusTest, AClosedMemberReceivesNothing) {
    const auto bus = MemoryBus::create();
    const Recorder eu(*bus, "eu");
    const Recorder us(*bus, "us");
    us.member->close();
    EXPECT_TRUE(eu.send("a", 1));
    EXPECT_EQ(us.others, "");
}

TEST(MemoryBusTest, MembersOfOneNameShareABus) {
    const auto bus = MemoryBus::named("memory_bus_test");
    EXPECT_EQ(MemoryBus::named("memory_bus_test"), bus);
    EXPECT_NE(MemoryBus::named("memory_bus_test.other"), bus);
}

}  // namespace
}  // namespace sluice
