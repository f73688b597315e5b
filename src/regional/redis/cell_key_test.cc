#include "regional/redis/cell_key.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "regional/redis/cluster_slot.h"

namespace sluice {
namespace {

CellName named(std::string workspace, std::string name_space, std::string identifier) {
    return {std::move(workspace), std::move(name_space), std::move(identifier), Duration(1000), 7};
}

TEST(CellKey, IsWrittenForPeopleToo) {
    EXPECT_EQ(cell_key("eu", named("default", "login", "alice")),
              "sluice{}:1:2:eu,7:default,5:login,5:alice,1000:7");
}

// All ways to cut and join a few hostile bytes.
TEST(CellKey, NoTwoCellsShareAKey) {
    const std::vector<std::string> parts = {"",
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
                                            "\xff",
                                            "1000:7"};
    std::set<std::string> keys;
    std::size_t cells = 0;
    for (const std::string& region : {std::string("eu"), std::string("e,1:u")})
        for (const std::string& workspace : parts)
            for (const std::string& name_space : parts)
                for (const std::string& identifier : parts) {
                    keys.insert(cell_key(region, named(workspace, name_space, identifier)));
                    ++cells;
                }
    EXPECT_EQ(keys.size(), cells);
}

TEST(CellKey, DurationAndSequenceAreApart) {
    CellName one = named("w", "n", "i");
    CellName other = one;
    one.duration = Duration(10'001);
    one.sequence = 1;
    other.duration = Duration(1'000);
    other.sequence = 11;
    EXPECT_NE(cell_key("eu", one), cell_key("eu", other));
}

TEST(CellKey, AnIdentifierWithBracesCantChooseItsSlot) {
    std::set<int> slots;
    for (int i = 0; i < 100; ++i)
        slots.insert(cluster_slot(cell_key("eu", named("w", "n", "{x}" + std::to_string(i)))));
    EXPECT_GT(slots.size(), 90U);
}

TEST(CellKey, AMarkerIsNoCell) {
    EXPECT_EQ(marker_key("eu", "0123"), "sluice{}:node:2:eu,4:0123,");
    EXPECT_NE(marker_key("a", "b"), marker_key("a,1:b", ""));
}

}  // namespace
}  // namespace sluice
