#include "regional/redis/origin_commands.h"

#include <array>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "regional/redis/redis_keys.h"
#include "regional/redis/redis_scripts.h"

namespace sluice {
namespace {

RedisReply text(const std::string& content) {
    RedisReply reply;
    reply.type = RedisReply::Type::kText;
    reply.text = content;
    return reply;
}

RedisReply number(std::int64_t value) {
    RedisReply reply;
    reply.type = RedisReply::Type::kInteger;
    reply.integer = value;
    return reply;
}

RedisReply array(std::initializer_list<RedisReply> elements) {
    RedisReply reply;
    reply.type = RedisReply::Type::kArray;
    reply.elements = elements;
    return reply;
}

// The words of a command: a command has the form of an array of texts.
std::vector<std::string> words_of(const std::string& command) {
    ReplyReader reader;
    reader.feed({command.data(), command.size()});
    std::vector<std::string> words;
    if (const auto reply = reader.next())
        for (const RedisReply& word : reply->elements)
            words.push_back(word.text);
    EXPECT_FALSE(reader.next().has_value());
    return words;
}

KeyComponents components_of(const std::string& identifier) {
    return {.current = {.workspace = "w",
                        .name_space = "n",
                        .identifier = identifier,
                        .duration = Duration(10'000),
                        .sequence = 7},
            .incarnation = 0,
            .own = {3, 2},
            .lifetime = Duration(15'000)};
}

std::string lifetime_of(const std::string& key, int lifetime) {
    const Duration spread = spread_lifetime(key, Duration(10'000), Duration(lifetime));
    return std::to_string(2'000 + spread.count());
}

TEST(OriginCommands, AreAboutUpTo64KeysOfOneServer) {
    std::vector<KeyComponents> keys;
    for (int i = 0; i < 150; ++i)
        keys.push_back(components_of(std::to_string(i)));
    const auto groups = group_keys("eu", keys, KeyPlacement::kOneServer);
    ASSERT_EQ(groups.size(), 3U);
    EXPECT_EQ(groups[0].keys.size(), 64U);
    EXPECT_EQ(groups[2].keys.size(), 22U);
    EXPECT_EQ(groups[2].cells.back().index, 149U);
    EXPECT_EQ(groups[2].cells.back().cells, 2U);
    EXPECT_EQ(groups[2].keys.back().components, &keys[149]);
    EXPECT_EQ(groups[2].keys.back().keys, cell_keys("eu", keys[149].current));
    EXPECT_TRUE(group_keys("eu", {}, KeyPlacement::kOneServer).empty());
}

TEST(OriginCommands, AreAboutKeysOfOneSlotInACluster) {
    std::vector<KeyComponents> keys;
    for (int i = 0; i < 200; ++i) {
        keys.push_back(components_of(i % 2 == 0 ? "even" : "odd"));
        keys.back().current.sequence += i;
    }
    const auto groups = group_keys("eu", keys, KeyPlacement::kBySlot);
    ASSERT_EQ(groups.size(), 4U);
    std::set<std::size_t> indexes;
    for (const KeyGroup& group : groups) {
        EXPECT_LE(group.keys.size(), 64U);
        for (std::size_t i = 0; i < group.keys.size(); ++i) {
            EXPECT_EQ(cluster_slot(group.keys[i].keys[0]), cluster_slot(group.keys[0].keys[0]));
            EXPECT_EQ(group.keys[i].components, &keys[group.cells[i].index]);
            indexes.insert(group.cells[i].index);
        }
    }
    EXPECT_EQ(indexes.size(), 200U);
}

TEST(OriginCommands, SyncManyKeys) {
    KeyComponents a = components_of("a");
    KeyComponents b = components_of("b");
    b.incarnation = 9;
    b.own = {kMaxCount, 0};
    b.peers = {5, 6};
    b.lifetime = Duration(9'500);
    const CellKeys a_keys = cell_keys("eu", a.current);
    const CellKeys b_keys = cell_keys("eu", b.current);
    const std::vector<KeyedComponents> keys = {{a_keys, &a}, {b_keys, &b}};
    EXPECT_EQ(words_of(sync_command("node", keys)),
              (std::vector<std::string>{"EVALSHA",
                                        sync_script().sha1,
                                        "4",
                                        a_keys[0],
                                        a_keys[1],
                                        b_keys[0],
                                        b_keys[1],
                                        "node",
                                        "3",
                                        "0",
                                        lifetime_of(a_keys[0], 15'000),
                                        "node",
                                        "2",
                                        "0",
                                        lifetime_of(a_keys[1], 5'000),
                                        "node.9",
                                        "9007199254740991",
                                        "5",
                                        lifetime_of(b_keys[0], 9'500),
                                        "node.9",
                                        "0",
                                        "0",
                                        lifetime_of(b_keys[1], 1)}))
        << "what is known of the previous cell of b does not matter any more";
    b.has_previous = false;
    EXPECT_EQ(words_of(sync_command("node", keys)).size(), 3U + 3U * 5U)
        << "the previous cell of b is left out";
}

TEST(OriginCommands, SpendForTheRequestsOfOneKey) {
    KeyComponents components = components_of("a");
    components.peers = {11, 12};
    const KeySpend spend{.components = components,
                         .extra = {13, 14},
                         .requests = {{Duration(4'000), {.cost = 1, .limit = 100}},
                                      {Duration(4'001), {.cost = 2, .limit = 50}}}};
    const CellKeys keys = cell_keys("eu", spend.components.current);
    EXPECT_EQ(words_of(spend_command("node", keys, spend, std::chrono::milliseconds(99))),
              (std::vector<std::string>{"EVALSHA", spend_script().sha1,
                                        "2",       keys[0],
                                        keys[1],   "node",
                                        "10000",   "99",
                                        "3",       lifetime_of(keys[0], 15'000),
                                        "11",      "13",
                                        "2",       lifetime_of(keys[1], 5'000),
                                        "12",      "14",
                                        "4000",    "1",
                                        "100",     "4001",
                                        "2",       "50"}));
}

TEST(OriginCommands, AnnounceTheNodeAndWriteItsMarker) {
    EXPECT_EQ(words_of(heartbeat_command("nodes", "node")),
              (std::vector<std::string>{
                  "EVALSHA", heartbeat_script().sha1, "1", "nodes", "node", "5000"}));
    const auto one = words_of(marker_command("marker"));
    const auto other = words_of(marker_command("marker"));
    ASSERT_EQ(one.size(), 6U);
    EXPECT_EQ(one[1], marker_script().sha1);
    EXPECT_EQ(one[3], "marker");
    EXPECT_NE(one[4], other[4]) << "a marker that was lost comes back with another value";
    EXPECT_EQ(one[5], "60000");
}

constexpr std::array kOneKey{CellsOfKey{.index = 0, .cells = 2}};
constexpr std::array kTwoKeys{CellsOfKey{.index = 0, .cells = 2},
                              CellsOfKey{.index = 1, .cells = 2}};

TEST(OriginReplies, HoldTheTotalsOfTheCellsThatWereAskedFor) {
    constexpr std::array kKeys{CellsOfKey{.index = 1, .cells = 1},
                               CellsOfKey{.index = 0, .cells = 2}};
    const auto read = read_totals(
        array({number(5), number(3), number(9), number(2), number(4), number(1), number(0)}),
        kKeys);
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->has_lost);
    const KeyTotals& first = *read->answers[0];
    EXPECT_EQ(first[0].total, 5U);
    EXPECT_EQ(first[1].total, 0U);
    const KeyTotals& second = *read->answers[1];
    EXPECT_EQ(second[0].total, 9U);
    EXPECT_EQ(second[1].total, 4U);
    EXPECT_EQ(second[1].own, 1U);
    EXPECT_FALSE(read_totals(array({number(5), number(3), number(9), number(2)}), kKeys));
}

TEST(OriginReplies, HoldTheTotalsOfEachKeyAndWhetherCountsWereLost) {
    const auto read = read_totals(array({number(5),
                                         number(3),
                                         number(9),
                                         number(0),
                                         number(0),
                                         number(0),
                                         number(1),
                                         number(1),
                                         number(2)}),
                                  kTwoKeys);
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(read->has_lost);
    ASSERT_TRUE(read->answers[0].has_value());
    const KeyTotals& first = *read->answers[0];
    EXPECT_EQ(first[0].total, 5U);
    EXPECT_EQ(first[0].own, 3U);
    EXPECT_EQ(first[1].total, 9U);
    EXPECT_EQ(first[1].own, 0U);
    EXPECT_EQ((*read->answers[1])[1].own, 1U);
}

TEST(OriginReplies, HoldWhatIsKnownOfACellThatHasLostCounts) {
    const auto read = read_totals(
        array({array({number(5), number(9)}), number(3), number(4), number(1), number(0)}),
        std::span(kOneKey));
    ASSERT_TRUE(read.has_value());
    const KeyTotals& totals = *read->answers[0];
    EXPECT_EQ(totals[0].total, 5U);
    EXPECT_EQ(totals[0].known, 9U);
    EXPECT_EQ(totals[1].known, 0U);
}

TEST(OriginReplies, HoldTheErrorOfOneKey) {
    const auto read = read_totals(array({number(5),
                                         number(3),
                                         text("WRONGTYPE Operation against a key"),
                                         number(0),
                                         number(7),
                                         number(0),
                                         number(1),
                                         number(1),
                                         number(0)}),
                                  kTwoKeys);
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->answers[0].has_value());
    EXPECT_EQ(read->answers[0].key_error, "WRONGTYPE Operation against a key");
    EXPECT_TRUE(read->answers[1].has_value());
    EXPECT_EQ(read->answers[1].key_error, "");
}

TEST(OriginReplies, MustMatchTheirCommand) {
    const RedisReply one = number(1);
    EXPECT_FALSE(read_totals(array({one, one, one, one}), kOneKey));
    EXPECT_FALSE(read_totals(array({one, one, one, number(-1), one}), kOneKey));
    EXPECT_FALSE(read_totals(array({one, one, one, array({}), one}), kOneKey));
    EXPECT_FALSE(read_totals(array({one, one, one, one, array({})}), kOneKey));
    EXPECT_FALSE(read_totals(one, kOneKey));
    const auto read = read_totals(array({number(INT64_MAX), one, one, one, one}), kOneKey);
    EXPECT_EQ((*read->answers[0])[0].total, kMaxCount);
}

TEST(OriginReplies, HoldOneVerdictPerRequest) {
    const auto grants = [](RedisReply last, const std::string& verdicts, std::size_t requests) {
        return read_grants(
            array({number(5), number(3), number(9), number(1), text(verdicts), std::move(last)}),
            requests);
    };
    const auto read = grants(number(0), "101", 3);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->grants.granted, (std::vector<bool>{true, false, true}));
    EXPECT_EQ(read->grants.totals[1].total, 9U);
    EXPECT_FALSE(read->has_lost);
    EXPECT_TRUE(grants(number(1), "", 0)->has_lost);
    EXPECT_FALSE(grants(number(0), "10", 3));
    EXPECT_FALSE(grants(number(0), "1x1", 3));
    EXPECT_FALSE(grants(text("x"), "101", 3));
    EXPECT_FALSE(read_grants(array({number(5), number(3), number(9), text("101"), number(0)}), 3));
    EXPECT_FALSE(read_grants(
        array({number(5), number(3), number(9), text("a"), text("101"), number(0)}), 3));
}

TEST(OriginReplies, HoldTheNodesAndTheTime) {
    const auto heartbeat =
        read_heartbeat(array({number(3), number(1), text("1700000000"), text("123456")}));
    ASSERT_TRUE(heartbeat.has_value());
    EXPECT_EQ(heartbeat->nodes, 3U);
    EXPECT_TRUE(heartbeat->was_absent);
    EXPECT_EQ(heartbeat->time.count(), 1'700'000'000'123);
    EXPECT_FALSE(read_heartbeat(array({number(3), number(1), text("1700000000"), text("-1")})));
    EXPECT_FALSE(read_heartbeat(array({number(3), number(1), text("now"), text("1")})));
    EXPECT_FALSE(read_heartbeat(array({number(0), number(1), text("1"), text("1")})));
    EXPECT_FALSE(read_heartbeat(array({number(3), number(1), text("1")})));
    EXPECT_FALSE(read_heartbeat(RedisReply{}));
}

TEST(OriginReplies, ListComponentsInTheOrderOfTheirOwners) {
    const auto listing = read_listing(array({text("stopped"),
                                             text("2"),
                                             text("total"),
                                             text("99999999999999999999999"),
                                             text("a"),
                                             text("3")}));
    ASSERT_TRUE(listing.has_value());
    EXPECT_EQ(listing->total, kMaxCount);
    ASSERT_EQ(listing->components.size(), 2U);
    EXPECT_EQ(listing->components[0].owner, "a");
    EXPECT_EQ(listing->components[0].count, 3U);
    EXPECT_EQ(listing->components[1].owner, "stopped");
    EXPECT_TRUE(read_listing(array({}))->components.empty());
    EXPECT_FALSE(read_listing(array({text("a")})));
    EXPECT_FALSE(read_listing(RedisReply{}));
    for (const char* wrong : {"", "-1", "+1", " 1", "1 ", "1.5", "9.007e+15", "many", "nan"})
        EXPECT_FALSE(read_listing(array({text("a"), text(wrong)}))) << wrong;
}

}  // namespace
}  // namespace sluice
