#include "regional/redis/redis_protocol.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::string_literals;
using Type = RedisReply::Type;

TEST(RedisCommand, HasEachWordWithItsLength) {
    EXPECT_EQ(redis_command({"PING"}), "*1\r\n$4\r\nPING\r\n");
    EXPECT_EQ(redis_command({"HGET", "a key", ""}),
              "*3\r\n$4\r\nHGET\r\n$5\r\na key\r\n$0\r\n\r\n");
    EXPECT_EQ(CommandWriter(2, 0).add("A").add(std::uint64_t{18446744073709551615U}).take(),
              "*2\r\n$1\r\nA\r\n$20\r\n18446744073709551615\r\n");
}

TEST(RedisCommand, HoldsAnyByte) {
    EXPECT_EQ(redis_command({"\0\r\n\xff"s}), "*1\r\n$4\r\n\0\r\n\xff\r\n"s);
}

TEST(RedisCommand, HoldsALongWord) {
    const std::string word(1'000'000, 'x');
    EXPECT_EQ(redis_command({"ECHO", word}), "*2\r\n$4\r\nECHO\r\n$1000000\r\n" + word + "\r\n");
}

TEST(RedisReply, IsParsedWhereverItsBytesAreSplit) {
    const std::string whole =
        "*4\r\n$3\r\na\0b\r\n:-7\r\n$-1\r\n*1\r\n+OK\r\n-ERR no\r\n:9223372036854775807\r\n"s;
    for (std::size_t step = 1; step <= whole.size(); ++step) {
        ReplyReader reader;
        std::vector<RedisReply> replies;
        for (std::size_t at = 0; at < whole.size(); at += step) {
            const std::string_view piece = std::string_view(whole).substr(at, step);
            reader.feed({piece.data(), piece.size()});
            while (auto reply = reader.next())
                replies.push_back(*std::move(reply));
        }
        ASSERT_FALSE(reader.is_broken());
        ASSERT_EQ(replies.size(), 3U);
        ASSERT_TRUE(replies[0].is_array(4));
        EXPECT_EQ(replies[0].elements[0].text, std::string("a\0b", 3));
        EXPECT_EQ(replies[0].elements[1].integer, -7);
        EXPECT_EQ(replies[0].elements[2].type, Type::kNil);
        EXPECT_EQ(replies[0].elements[3].elements.at(0).text, "OK");
        EXPECT_TRUE(replies[1].is_error("ERR"));
        EXPECT_FALSE(replies[1].is_error("ER"));
        EXPECT_EQ(replies[2].integer, INT64_MAX);
    }
}

class ReplyReaderBreaks : public testing::TestWithParam<std::string_view> {};

TEST_P(ReplyReaderBreaks, OnThis) {
    ReplyReader reader;
    reader.feed({GetParam().data(), GetParam().size()});
    while (reader.next()) {
    }
    EXPECT_TRUE(reader.is_broken());
    EXPECT_FALSE(reader.next());
    const std::string_view good = "+OK\r\n";
    reader.feed({good.data(), good.size()});
    EXPECT_FALSE(reader.next());
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    ReplyReaderBreaks,
    testing::Values("HTTP/1.1 400 Bad Request\r\n",
                    "\r\n",
                    "*-7\r\n",
                    "*2147483647\r\n",
                    "*99999999999999999999\r\n",
                    "*x\r\n",
                    "$-7\r\n",
                    "$x\r\n",
                    ":x\r\n",
                    "*2\r\n+OK\r\n*2000000\r\n",
                    "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"));

TEST(ReplyReader, BreaksOnAReplyWithoutEnd) {
    ReplyReader reader;
    const std::string announced = "$1000000000000\r\n";
    reader.feed({announced.data(), announced.size()});
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 65 && !reader.is_broken(); ++i) {
        reader.feed({piece.data(), piece.size()});
        EXPECT_FALSE(reader.next());
    }
    EXPECT_TRUE(reader.is_broken());
}

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

TEST(RedisError, DistinguishesRefusalsOfAllWrites) {
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
