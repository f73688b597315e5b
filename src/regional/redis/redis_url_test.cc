#include "regional/redis/redis_url.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(RedisUrl, TakesAHostAlone) {
    const auto url = parse_redis_url("redis://cache.example");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_FALSE(url->tls);
    EXPECT_EQ(url->host, "cache.example");
    EXPECT_EQ(url->port, 6379);
    EXPECT_EQ(url->user, "");
    EXPECT_EQ(url->password, "");
    EXPECT_EQ(url->database, 0);
    EXPECT_EQ(url->socket_path, "");
    EXPECT_EQ(url->shown(), "redis://cache.example:6379");
}

TEST(RedisUrl, TakesEverything) {
    const auto url = parse_redis_url("rediss://al%69ce:p%40ss%2f%00w:rd@10.0.0.1:7000/12");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->host, "10.0.0.1");
    EXPECT_EQ(url->port, 7000);
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->password, std::string("p@ss/\0w:rd", 10));
    EXPECT_EQ(url->database, 12);
    EXPECT_EQ(url->shown(), "rediss://10.0.0.1:7000/12");
}

TEST(RedisUrl, TakesAPasswordWithoutAUser) {
    const auto url = parse_redis_url("redis://:se@cret@host/");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->user, "");
    EXPECT_EQ(url->password, "se@cret");
    EXPECT_EQ(url->host, "host");
}

TEST(RedisUrl, TakesAnIpv6AddressInBrackets) {
    const auto url = parse_redis_url("redis://[::1]:7000");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->host, "::1");
    EXPECT_EQ(url->port, 7000);
    EXPECT_EQ(url->shown(), "redis://[::1]:7000");
}

TEST(RedisUrl, TakesAUnixSocket) {
    const auto url = parse_redis_url("redis+socket://alice:secret@/run/my%20redis.sock?db=3");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->socket_path, "/run/my redis.sock");
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->password, "secret");
    EXPECT_EQ(url->database, 3);
    EXPECT_EQ(url->shown(), "redis+socket:///run/my redis.sock?db=3");
    EXPECT_EQ(parse_redis_url("redis+socket:///run/redis.sock")->shown(),
              "redis+socket:///run/redis.sock");
}

class RedisUrlRefuses : public testing::TestWithParam<const char*> {};

TEST_P(RedisUrlRefuses, ThisAndTellsNoSecret) {
    const auto url = parse_redis_url(GetParam());
    ASSERT_FALSE(url) << GetParam();
    EXPECT_EQ(url.error().code, kInvalidOption);
    EXPECT_NE(url.error().message.find("allowed are redis://"), std::string::npos);
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos) << url.error().message;
}

INSTANTIATE_TEST_SUITE_P(Each,
                         RedisUrlRefuses,
                         testing::Values("",
                                         "secret",
                                         "http://:secret@host",
                                         "redis:host",
                                         "redis://",
                                         "redis://:secret@",
                                         "redis://secret@host",
                                         "redis://:secret/@host",
                                         "redis://:secret%4@host",
                                         "redis://:secret%zz@host",
                                         "redis://:secret@ho st",
                                         "redis://:secret@host:",
                                         "redis://:secret@host:0",
                                         "redis://:secret@host:65536",
                                         "redis://:secret@host:-1",
                                         "redis://:secret@host:7000x",
                                         "redis://:secret@host/x",
                                         "redis://:secret@host/-1",
                                         "redis://:secret@host/1/2",
                                         "redis://:secret@host/99999999999",
                                         "redis://:secret@host?db=1",
                                         "redis://:secret@[::1",
                                         "redis://:secret@[::x]",
                                         "redis://:secret@[::1]7000",
                                         "redis://:secret@::1",
                                         "redis+socket://:secret@",
                                         "redis+socket://:secret@host",
                                         "redis+socket://:secret@/a%00b",
                                         "redis+socket://:secret@/a?db=",
                                         "redis+socket://:secret@/a?db=x",
                                         "redis+socket://:secret@/a?database=1"));

TEST(RedisUrl, RefusesAPathThatNoUnixSocketCanHave) {
    EXPECT_FALSE(parse_redis_url("redis+socket:///" + std::string(107, 'x')));
    EXPECT_TRUE(parse_redis_url("redis+socket:///" + std::string(106, 'x')));
}

}  // namespace
}  // namespace sluice
