#include "regional/redis/redis_keys.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

CellName named(std::string workspace, std::string name_space, std::string identifier) {
    return {std::move(workspace), std::move(name_space), std::move(identifier), Duration(1000), 7};
}

// Bytes that mean something in a key, alone and combined.
const std::vector<std::string> kHostileParts = {"",
                                                "a",
                                                "A",
                                                "a ",
                                                " a",
                                                ",",
                                                ":",
                                                "1:",
                                                "1:a",
                                                "1:a,",
                                                "a,1:a",
                                                "0:,",
                                                "\n",
                                                "\r\n",
                                                std::string(1, '\0'),
                                                std::string("a\0", 2),
                                                "{",
                                                "}",
                                                "{}",
                                                "{a}",
                                                "%",
                                                "%7D",
                                                "%25",
                                                "%257D",
                                                "a}:7",
                                                "\xff",
                                                "1000}:7"};

TEST(RedisKeys, NameTheCellsOfAKey) {
    const CellName cell = named("default", "login", "alice");
    EXPECT_EQ(cell_key("eu", cell), "sluice:2:{2:eu,7:default,5:login,5:alice,1000}:7");
    EXPECT_EQ(cell_keys("eu", cell)[0], cell_key("eu", cell));
    EXPECT_EQ(cell_keys("eu", cell)[1], "sluice:2:{2:eu,7:default,5:login,5:alice,1000}:6");
    EXPECT_EQ(cell_key("eu", named("w", "n", "50%}{")),
              "sluice:2:{2:eu,1:w,1:n,9:50%25%7D{,1000}:7");
}

TEST(RedisKeys, DifferForAnyTwoCells) {
    std::set<std::string> keys;
    std::size_t cells = 0;
    for (const std::string& region : {std::string("eu"), std::string("e,1:u")})
        for (const std::string& workspace : kHostileParts)
            for (const std::string& name_space : kHostileParts)
                for (const std::string& identifier : kHostileParts) {
                    keys.insert(cell_key(region, named(workspace, name_space, identifier)));
                    ++cells;
                }
    EXPECT_EQ(keys.size(), cells);
}

TEST(RedisKeys, SeparateDurationAndSequence) {
    CellName one = named("w", "n", "i");
    CellName other = one;
    one.duration = Duration(10'001);
    one.sequence = 1;
    other.duration = Duration(1'000);
    other.sequence = 11;
    EXPECT_NE(cell_key("eu", one), cell_key("eu", other));
}

TEST(RedisKeys, PlaceAllCellsOfAKeyInOneSlot) {
    for (const std::string& part : kHostileParts) {
        CellName cell = named(part, part, part);
        const auto [current, previous] = cell_keys(part, cell);
        EXPECT_NE(current, previous);
        EXPECT_EQ(cluster_slot(current), cluster_slot(previous)) << part;
        cell.sequence = 123'456;
        EXPECT_EQ(cluster_slot(current), cluster_slot(cell_key(part, cell))) << part;
    }
}

// The tag reaches to the last } of a key, whatever the identifier holds.
TEST(RedisKeys, LetNoIdentifierEndItsTag) {
    for (const std::string& part : kHostileParts) {
        const std::string key = cell_key(part, named(part, part, part));
        EXPECT_EQ(key.find('}'), key.rfind('}')) << key;
        EXPECT_EQ(key.find('}') + 3, key.size()) << key;
    }
    std::set<int> slots;
    for (int i = 0; i < 100; ++i)
        slots.insert(cluster_slot(cell_key("eu", named("w", "n", "{x}" + std::to_string(i)))));
    EXPECT_GT(slots.size(), 90U);
}

TEST(RedisKeys, NameNodesAndMarkersUnlikeCells) {
    EXPECT_EQ(node_set_key("eu"), "sluice:2:{2:eu}:nodes");
    EXPECT_EQ(marker_key("eu", "0123", 5), "sluice:2:{2:eu,4:0123,5}:marker");
    EXPECT_NE(marker_key("a", "b", 0), marker_key("a,1:b", "", 0));
    EXPECT_EQ(node_set_key("}"), "sluice:2:{3:%7D}:nodes");
    std::set<int> slots;
    for (std::size_t i = 0; i < 100; ++i)
        slots.insert(cluster_slot(marker_key("eu", "0123", i)));
    EXPECT_GT(slots.size(), 90U);
}

TEST(RedisKeys, SpreadExpiryOverAnEighthOfTheWindowAndAMinuteAtMost) {
    for (const auto& [duration, most] :
         {std::pair{1'000, 125}, {60'000, 7'500}, {480'000, 60'000}, {31'622'400'000, 60'000}}) {
        std::set<std::int64_t> extras;
        for (int i = 0; i < 1'000; ++i) {
            const std::string key = "key" + std::to_string(i);
            const Duration lifetime(100'000);
            const Duration spread = spread_lifetime(key, Duration(duration), lifetime);
            EXPECT_EQ(spread, spread_lifetime(key, Duration(duration), lifetime));
            extras.insert((spread - lifetime).count());
        }
        EXPECT_GE(*extras.begin(), 0);
        EXPECT_LE(*extras.rbegin(), most);
        EXPECT_LT(*extras.begin(), most / 10);
        EXPECT_GT(*extras.rbegin(), most * 9 / 10);
        EXPECT_GT(extras.size(), 100U);
    }
}

// The check value of the Redis Cluster specification, and slots as CLUSTER KEYSLOT returns them.
TEST(ClusterSlot, IsTheOneThatRedisComputes) {
    EXPECT_EQ(crc16("123456789"), 0x31C3);
    EXPECT_EQ(crc16(""), 0);
    EXPECT_EQ(cluster_slot("123456789"), 12739);
    EXPECT_EQ(cluster_slot("foo"), 12182);
    EXPECT_EQ(cluster_slot("bar"), 5061);
    EXPECT_EQ(cluster_slot("hello"), 866);
}

TEST(ClusterSlot, IsThatOfTheHashTagIfThereIsOne) {
    EXPECT_EQ(cluster_slot("{foo}.bar"), cluster_slot("foo"));
    EXPECT_EQ(cluster_slot("a{foo}{bar}"), cluster_slot("foo"));
    EXPECT_EQ(cluster_slot("a{{foo}}"), cluster_slot("{foo"));
    EXPECT_EQ(cluster_slot("{}foo"), crc16("{}foo") % kClusterSlots);
    EXPECT_EQ(cluster_slot("{}{foo}"), crc16("{}{foo}") % kClusterSlots);
    EXPECT_EQ(cluster_slot("{foo"), crc16("{foo") % kClusterSlots);
    EXPECT_EQ(cluster_slot("}foo{"), crc16("}foo{") % kClusterSlots);
}

}  // namespace
}  // namespace sluice
