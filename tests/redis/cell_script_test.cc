// The scripts in a real Redis change a cell as OriginCell does.
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "regional/origin_cell.h"
#include "regional/redis/origin_commands.h"
#include "regional/redis/redis_keys.h"
#include "support/origin_client.h"
#include "support/redis_server.h"

namespace sluice::redis_test {
namespace {

class CellScript : public testing::Test {
  protected:
    void SetUp() override {
        for (OriginClient& node : nodes)
            ASSERT_TRUE(node.becomes_available());
    }

    KeyComponents key(Count own, Count peers, Incarnation incarnation = 0) const {
        KeyComponents components = components_of(cell, own);
        components.incarnation = incarnation;
        components.peers[0] = peers;
        return components;
    }

    // Has both lift a component, and compares.
    void lift(std::size_t node, const KeyComponents& components) {
        const CellTotals expected = model.lift(
            {.node = node, .incarnation = components.incarnation}, cells_of(components)[0]);
        const auto answer = nodes[node].sync({components}).at(0);
        ASSERT_TRUE(answer.has_value()) << answer.key_error;
        EXPECT_EQ((*answer)[0].total, expected.total);
        EXPECT_EQ((*answer)[0].own, expected.own);
        EXPECT_EQ((*answer)[0].spent(), model.spent());
    }

    // What Redis holds in all.
    std::int64_t total() {
        const Reply reply = server.command({"HGET", cell_key(kRegion, cell), "total"});
        return reply.text.empty() ? 0 : std::stoll(reply.text);
    }

    // The component in Redis; -1 if it is absent.
    std::int64_t field(std::size_t node, Incarnation incarnation) {
        const Reply reply = server.command(
            {"HGET", cell_key(kRegion, cell), owner_name(nodes[node].node(), incarnation)});
        return reply.text.empty() ? -1 : std::stoll(reply.text);
    }

    const CellName cell = cell_of("alice");
    RedisServer server;
    std::array<OriginClient, 3> nodes{OriginClient(server.url(), {.node = "a"}),
                                      OriginClient(server.url(), {.node = "b"}),
                                      OriginClient(server.url(), {.node = "c"})};
    OriginCell model;
};

// Calls come in any order, also those of earlier incarnations, and the cell is lost at times.
TEST_F(CellScript, LiftsAsTheCellInMemoryDoes) {
    std::mt19937 random(1);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    for (int step = 0; step < 3'000 && !HasFailure(); ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        const std::size_t node = below(3);
        const Count own = below(4) == 0 ? 0 : below(50);
        const Count peers = below(3) == 0 ? below(60) : 0;
        const Incarnation incarnation = below(2) == 0 ? 0 : below(4);
        SCOPED_TRACE(std::to_string(node) + "." + std::to_string(incarnation) + " lifts " +
                     std::to_string(own) + ", peers " + std::to_string(peers));
        lift(node, key(own, peers, incarnation));
        if (below(40) == 0) {
            server.command({"DEL", cell_key(kRegion, cell)});
            model = {};
        }
        EXPECT_EQ(total(), static_cast<std::int64_t>(model.spent()));
        for (const OriginCell::Component& one : model.components())
            EXPECT_EQ(field(one.owner.node, one.owner.incarnation),
                      static_cast<std::int64_t>(one.count));
    }
}

TEST_F(CellScript, HoldsTwoFieldsOfANodeWhoseEntriesWereEvicted) {
    for (Incarnation incarnation = 0; incarnation < 500; ++incarnation)
        lift(0, key(1, 0, incarnation));
    EXPECT_EQ(server.command({"HLEN", cell_key(kRegion, cell)}).number, 3);
    EXPECT_EQ(server.command({"HGET", cell_key(kRegion, cell), "total"}).text, "500");
}

// A node reads a cell that has the component of its earlier incarnation before it spends.
TEST_F(CellScript, AReadKeepsWhatALateCallIsComparedWith) {
    lift(0, key(5, 0, 7));
    lift(0, key(0, 0, 8));
    lift(0, key(0, 3, 8));
    lift(0, key(5, 0, 7));
    lift(0, key(1, 0, 8));
    lift(0, key(5, 0, 7));
    EXPECT_EQ(server.command({"HGET", cell_key(kRegion, cell), "total"}).text, "6");
}

TEST_F(CellScript, ASpendOfASupersededIncarnationIsDenied) {
    lift(0, key(5, 0, 8));
    KeySpend spend{.components = key(2, 0, 7),
                   .requests = {{Duration(0), {.cost = 1, .limit = 9}}}};
    const auto grants = nodes[0].spend({spend}).at(0);
    ASSERT_TRUE(grants.has_value());
    EXPECT_EQ(grants->granted, std::vector<bool>{false});
    EXPECT_EQ(field(0, 7), -1);
    EXPECT_EQ(field(0, 8), 5);
}

// The words of an encoded command.
std::vector<std::string> words_of(const std::string& bytes) {
    std::istringstream in(bytes);
    std::string line;
    std::getline(in, line);
    std::vector<std::string> words(std::stoul(line.substr(1)));
    for (std::string& word : words) {
        std::getline(in, line);
        word.resize(std::stoul(line.substr(1)));
        in.read(word.data(), static_cast<std::streamsize>(word.size()));
        std::getline(in, line);
    }
    return words;
}

// It was denied in time, by counts that have expired since.
TEST_F(CellScript, ASpendThatIsRepeatedLaterChangesNothing) {
    OriginClient& node = nodes[0];
    const CellKeys names = cell_keys(kRegion, cell);
    const KeySpend spend{.components = key(0, 0),
                         .requests = {{Duration(0), {.cost = 45, .limit = 50}}}};
    const auto time = server.command({"TIME"}).list;
    const std::chrono::milliseconds now{std::stoll(time[0].text) * 1'000};
    const std::chrono::seconds second{1};
    const auto late = words_of(spend_command(node.node(), names, spend, now - second));
    EXPECT_TRUE(server.command(late).text.starts_with("LATE"));
    EXPECT_EQ(server.command({"EXISTS", names[0]}).number, 0);
    EXPECT_EQ(server.command(words_of(spend_command(node.node(), names, spend, now + 60 * second)))
                  .list.at(4)
                  .text,
              "1");
}

// By the server's clock, as the last heartbeat measured it.
TEST_F(CellScript, ASpendExpiresSoonAfterItsCallersHaveCeasedToWait) {
    OriginClient& node = nodes[0];
    ASSERT_TRUE(node.heartbeat().has_value());
    server.command({"CONFIG", "SET", "slowlog-log-slower-than", "0"});
    const KeySpend spend{.components = key(0, 0),
                         .requests = {{Duration(0), {.cost = 1, .limit = 50}}}};
    ASSERT_TRUE(node.spend({spend}).at(0).has_value());
    server.command({"CONFIG", "SET", "slowlog-log-slower-than", "-1"});
    const std::int64_t now = std::stoll(server.command({"TIME"}).list[0].text) * 1'000;
    int found = 0;
    for (const Reply& entry : server.command({"SLOWLOG", "GET"}).list) {
        const std::vector<Reply>& words = entry.list.at(3).list;
        if (words.at(0).text != "EVALSHA" || words.size() < 8) continue;
        ++found;
        const std::int64_t expires = std::stoll(words.at(7).text);
        EXPECT_GT(expires, now - 20'000);
        EXPECT_LT(expires, now + 5'000) << "the timeout of 2 s, and a second more";
    }
    EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace sluice::redis_test
