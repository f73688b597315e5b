#include "regional/redis/redis_error.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr std::string_view kOutOfMemory7 =
    "OOM command not allowed when used memory > 'maxmemory'. script: "
    "b0b2f3a1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7, on @user_script:21.";
constexpr std::string_view kOutOfMemory6 =
    "ERR Error running script (call to f_b0b2f3a1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7): "
    "@user_script:21: @user_script: 21: -OOM command not allowed when used memory > 'maxmemory'.";

TEST(RedisError, HasOneMessageInEveryScriptAndVersion) {
    EXPECT_EQ(error_message(kOutOfMemory), kOutOfMemory);
    EXPECT_EQ(error_message(kOutOfMemory7), kOutOfMemory);
    EXPECT_EQ(error_message(kOutOfMemory6), kOutOfMemory);
    EXPECT_EQ(error_message("ERR Error running script (call to f_1): no dash"),
              "ERR Error running script (call to f_1): no dash");
}

TEST(RedisError, IsShownWithoutSecrets) {
    EXPECT_EQ(shown_error("ERR DB index is out of range", "secret"),
              "ERR DB index is out of range");
    EXPECT_EQ(shown_error("ERR fine", ""), "ERR fine");
    EXPECT_EQ(shown_error("ERR unknown command 'AUTH', with args beginning with: 'secr", "secret"),
              "ERR unknown command 'AUTH'");
    EXPECT_EQ(shown_error("ERR secret is not secret", "secret"), "ERR *** is not ***");
    EXPECT_EQ(shown_error("ERR ***", "*"), "ERR *********");
}

TEST(RedisError, IsShownOnOneBoundedLine) {
    EXPECT_EQ(shown_error("a\r\nb\x1b\xff", ""), "a??b??");
    EXPECT_LE(shown_error(std::string(10'000, 'x'), "").size(), 200U);
}

TEST(RedisError, IsARefusedWriteUnlessTheCommandGoesElsewhereOrAgain) {
    for (const char* reply : {"OOM command not allowed when used memory > 'maxmemory'.",
                              "MISCONF Redis is configured to save RDB snapshots",
                              "READONLY You can't write against a read only replica.",
                              "NOPERM this user has no permissions to run the 'hset' command",
                              "NOREPLICAS Not enough good replicas to write.",
                              "WRONGTYPE Operation against a key",
                              "ERR anything else",
                              "MOVEDX 1 host:1"})
        EXPECT_TRUE(is_refused_write(reply)) << reply;
    EXPECT_TRUE(is_refused_write(kOutOfMemory6));
    for (const char* reply : {"MOVED 1 host:1",
                              "ASK 1 host:1",
                              "TRYAGAIN Multiple keys request during rehashing of slot",
                              "NOSCRIPT No matching script.",
                              "CLUSTERDOWN The cluster is down",
                              "LOADING Redis is loading the dataset in memory",
                              "MASTERDOWN Link with MASTER is down"})
        EXPECT_FALSE(is_refused_write(reply)) << reply;
}

TEST(RedisError, TellsWhetherAServerRefusesAllWritesForNow) {
    EXPECT_TRUE(is_refusing_all_writes(kOutOfMemory7));
    EXPECT_TRUE(is_refusing_all_writes("MISCONF Redis is configured to save RDB snapshots"));
    EXPECT_TRUE(is_refusing_all_writes("READONLY You can't write against a read only replica."));
    EXPECT_FALSE(is_refusing_all_writes("NOPERM this user has no permissions"));
    EXPECT_TRUE(is_read_only("READONLY You can't write against a read only replica."));
    EXPECT_FALSE(is_read_only(kOutOfMemory));
    EXPECT_TRUE(is_not_serving("LOADING Redis is loading the dataset in memory"));
    EXPECT_FALSE(is_not_serving("READONLY You can't write against a read only replica."));
}

}  // namespace
}  // namespace sluice
