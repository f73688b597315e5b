#include "regional/redis/cluster_map.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

RedisReply reply_of(const std::string& bytes) {
    ReplyReader reader;
    reader.feed({bytes.data(), bytes.size()});
    auto reply = reader.next();
    return reply ? *std::move(reply) : RedisReply{};
}

TEST(ClusterMap, ReadsTheMasterOfEachRange) {
    const auto ranges = read_cluster_slots(
        reply_of("*2\r\n"
                 "*4\r\n:0\r\n:5460\r\n*3\r\n$8\r\n10.0.0.1\r\n:7000\r\n$2\r\nid\r\n"
                 "*3\r\n$8\r\n10.0.0.9\r\n:7001\r\n$2\r\nid\r\n"
                 "*3\r\n:5461\r\n:16383\r\n*4\r\n$-1\r\n:7002\r\n$2\r\nid\r\n*0\r\n"),
        "asked");
    ASSERT_TRUE(ranges.has_value());
    ASSERT_EQ(ranges->size(), 2U);
    EXPECT_EQ((*ranges)[0].first, 0);
    EXPECT_EQ((*ranges)[0].last, 5460);
    EXPECT_EQ((*ranges)[0].master.shown(), "10.0.0.1:7000");
    EXPECT_EQ((*ranges)[1].last, 16383);
    EXPECT_EQ((*ranges)[1].master.shown(), "asked:7002");
}

TEST(ClusterMap, RejectsOtherReplies) {
    for (const std::string bytes : {"+OK\r\n",
                                    "*1\r\n:1\r\n",
                                    "*1\r\n*2\r\n:0\r\n:1\r\n",
                                    "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                    "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                    "*1\r\n*3\r\n:2\r\n:1\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                    "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:0\r\n",
                                    "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nh\r\n:65536\r\n",
                                    "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n"})
        EXPECT_FALSE(read_cluster_slots(reply_of(bytes), "asked")) << bytes;
}

TEST(ClusterMap, ReadsRedirections) {
    const auto moved = read_redirection(reply_of("-MOVED 3999 10.0.0.1:7000\r\n"), "asked");
    ASSERT_TRUE(moved.has_value());
    EXPECT_TRUE(moved->is_final);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->target.shown(), "10.0.0.1:7000");
    const auto ask = read_redirection(reply_of("-ASK 0 :7000\r\n"), "asked");
    ASSERT_TRUE(ask.has_value());
    EXPECT_FALSE(ask->is_final);
    EXPECT_EQ(ask->target.shown(), "asked:7000");
    EXPECT_EQ(read_redirection(reply_of("-MOVED 1 ::1:7000\r\n"), "asked")->target.host, "::1");
    EXPECT_EQ(read_redirection(reply_of("-MOVED 1 ?:7000\r\n"), "asked")->target.host, "asked");
}

TEST(ClusterMap, RejectsOtherErrors) {
    for (const std::string bytes : {"-MOVED\r\n",
                                    "-MOVED 1\r\n",
                                    "-MOVED 1 host\r\n",
                                    "-MOVED 16384 host:1\r\n",
                                    "-MOVED x host:1\r\n",
                                    "-MOVED 1 host:0\r\n",
                                    "-MOVED 1 host:65536\r\n",
                                    "-MOVED 1:2 host\r\n",
                                    "-MOVEDX 1 host:1\r\n",
                                    "-ERR no\r\n",
                                    "+MOVED 1 host:1\r\n"})
        EXPECT_FALSE(read_redirection(reply_of(bytes), "asked")) << bytes;
}

}  // namespace
}  // namespace sluice
