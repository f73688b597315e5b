#include "regional/redis/cell_reply.h"

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

RedisReply text(const std::string& content) {
    RedisReply reply;
    reply.type = RedisReply::Type::kText;
    reply.text = content;
    return reply;
}

RedisReply array(std::initializer_list<RedisReply> elements) {
    RedisReply reply;
    reply.type = RedisReply::Type::kArray;
    reply.elements = elements;
    return reply;
}

TEST(CellReply, WhatIsNotHeldIsZero) {
    const auto answer = read_totals(array({RedisReply{}, RedisReply{}}));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->total, 0U);
    EXPECT_EQ(answer->own, 0U);
}

TEST(CellReply, CountsEndAtTheLargest) {
    const auto answer = read_totals(array({text("9007199254740992"), text("9007199254740990")}));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->total, kMaxCount);
    EXPECT_EQ(answer->own, kMaxCount - 1);
    EXPECT_EQ(read_totals(array({text(std::string(99, '9')), text("0")}))->total, kMaxCount);
}

TEST(CellReply, OtherThingsAreNoCounts) {
    for (const char* wrong : {"", "-1", "+1", " 1", "1 ", "1.5", "9.007e+15", "many", "nan"})
        EXPECT_FALSE(read_totals(array({text(wrong), text("1")}))) << wrong;
    EXPECT_FALSE(read_totals(array({text("1")})));
    EXPECT_FALSE(read_totals(array({text("1"), text("1"), text("1")})));
    EXPECT_FALSE(read_totals(array({text("1"), array({})})));
    EXPECT_FALSE(read_totals(text("1")));
}

TEST(CellReply, ATotalAloneSaysThatTheComponentIsWhatWasTold) {
    RedisReply number;
    number.type = RedisReply::Type::kInteger;
    number.integer = 12;
    const auto answer = read_raised(number, 5);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->total, 12U);
    EXPECT_EQ(answer->own, 5U);
    EXPECT_EQ(read_raised(array({number, text("7")}), 5)->own, 7U);
    number.integer = -1;
    EXPECT_FALSE(read_raised(number, 5));
    EXPECT_FALSE(read_raised(text("12"), 5));
}

TEST(CellReply, FieldsAreComponentsInTheOrderOfTheirOwners) {
    const auto listing =
        read_fields(array({text("b"), text("2"), text("total"), text("5"), text("a"), text("3")}));
    ASSERT_TRUE(listing.has_value());
    EXPECT_EQ(listing->total, 5U);
    ASSERT_EQ(listing->components.size(), 2U);
    EXPECT_EQ(listing->components[0].owner, "a");
    EXPECT_EQ(listing->components[0].count, 3U);
    EXPECT_EQ(listing->components[1].owner, "b");
    EXPECT_TRUE(read_fields(array({}))->components.empty());
    EXPECT_FALSE(read_fields(array({text("a")})));
    EXPECT_FALSE(read_fields(array({text("a"), text("x")})));
    EXPECT_FALSE(read_fields(RedisReply{}));
}

}  // namespace
}  // namespace sluice
