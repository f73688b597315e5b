#include "regional/redis/redis_command.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::string_literals;

TEST(RedisCommand, GivesEachWordWithItsLength) {
    EXPECT_EQ(redis_command({"PING"}), "*1\r\n$4\r\nPING\r\n");
    EXPECT_EQ(redis_command({"HGET", "a key", ""}),
              "*3\r\n$4\r\nHGET\r\n$5\r\na key\r\n$0\r\n\r\n");
}

TEST(RedisCommand, HoldsAnyByte) {
    EXPECT_EQ(redis_command({"\0\r\n\xff"s}), "*1\r\n$4\r\n\0\r\n\xff\r\n"s);
}

TEST(RedisCommand, HoldsAWordLongerThanAnyBuffer) {
    const std::string word(1'000'000, 'x');
    EXPECT_EQ(redis_command({"ECHO", word}), "*2\r\n$4\r\nECHO\r\n$1000000\r\n" + word + "\r\n");
}

}  // namespace
}  // namespace sluice
