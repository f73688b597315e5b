#include "config/duration.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::config {
namespace {

using namespace std::chrono_literals;

TEST(Duration, IsAWholeNumberAndAUnit) {
    EXPECT_EQ(parse_duration("500ms"), 500ms);
    EXPECT_EQ(parse_duration("60s"), 60s);
    EXPECT_EQ(parse_duration("5m"), 5min);
    EXPECT_EQ(parse_duration("1h"), 1h);
    EXPECT_EQ(parse_duration("30d"), 720h);
    EXPECT_EQ(parse_duration("0s"), 0ms);
}

TEST(Duration, RefusesOtherForms) {
    for (const char* text :
         {"", "60", "s", "-1s", "+1s", " 1s", "1s ", "1 s", "1.5s", "1S", "1w", "1h30m", "0x1s"}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(Duration, RefusesOverflow) {
    EXPECT_EQ(parse_duration("99999999999999999999ms"), std::nullopt);
    EXPECT_EQ(parse_duration("9223372036854775808ms"), std::nullopt);
    EXPECT_EQ(parse_duration("106751991168d"), std::nullopt);
    EXPECT_TRUE(parse_duration("106751991167d"));
}

TEST(Duration, IsShownInTheLargestUnitThatFits) {
    EXPECT_EQ(to_string(0ms), "0s");
    EXPECT_EQ(to_string(1500ms), "1500ms");
    EXPECT_EQ(to_string(90s), "90s");
    EXPECT_EQ(to_string(120s), "2m");
    EXPECT_EQ(to_string(48h), "2d");
}

}  // namespace
}  // namespace sluice::config
