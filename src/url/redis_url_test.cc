#include "url/redis_url.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(RedisUrl, TakesAHostAlone) {
    const auto url = parse_redis_url("redis://cache.example");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_FALSE(url->tls);
    EXPECT_EQ(url->servers.at(0).host, "cache.example");
    EXPECT_EQ(url->servers.at(0).port, 6379);
    EXPECT_EQ(url->user, "");
    EXPECT_EQ(url->password, "");
    EXPECT_EQ(url->database, 0);
    EXPECT_EQ(url->servers.at(0).socket_path, "");
    EXPECT_EQ(url->servers.size(), 1U);
    EXPECT_EQ(url->sentinel_master, "");
    EXPECT_EQ(url->shown(), "redis://cache.example:6379");
}

TEST(RedisUrl, TakesEverything) {
    const auto url = parse_redis_url("rediss://al%69ce:p%40ss%2f%00w:rd@10.0.0.1:7000/12");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->servers.at(0).host, "10.0.0.1");
    EXPECT_EQ(url->servers.at(0).port, 7000);
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
    EXPECT_EQ(url->servers.at(0).host, "host");
}

TEST(RedisUrl, TakesAnIpv6AddressInBrackets) {
    const auto url = parse_redis_url("redis://[::1]:7000");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->servers.at(0).host, "::1");
    EXPECT_EQ(url->servers.at(0).port, 7000);
    EXPECT_EQ(url->shown(), "redis://[::1]:7000");
}

TEST(RedisUrl, TakesAUnixSocket) {
    const auto url = parse_redis_url("redis+socket://alice:secret@/run/my%20redis.sock?db=3");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->servers.at(0).socket_path, "/run/my redis.sock");
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->password, "secret");
    EXPECT_EQ(url->database, 3);
    EXPECT_EQ(url->shown(), "redis+socket:///run/my redis.sock?db=3");
    EXPECT_EQ(parse_redis_url("redis+socket:///run/redis.sock")->shown(),
              "redis+socket:///run/redis.sock");
}

TEST(RedisUrl, TakesSeveralServersOfACluster) {
    const auto url = parse_redis_url("redis://:a,b@one:7000,10.0.0.2,[::1]:7001/0");
    ASSERT_TRUE(url) << url.error().message;
    ASSERT_EQ(url->servers.size(), 3U);
    EXPECT_EQ(url->servers[0].shown(), "one:7000");
    EXPECT_EQ(url->servers[1].shown(), "10.0.0.2:6379");
    EXPECT_EQ(url->servers[2].shown(), "[::1]:7001");
    EXPECT_EQ(url->password, "a,b");
    EXPECT_EQ(url->shown(), "redis://one:7000,10.0.0.2:6379,[::1]:7001");
}

TEST(RedisUrl, TakesSentinels) {
    const auto url = parse_redis_url("redis+sentinel://al:secret@one,two:7000/my%20master/3");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_FALSE(url->tls);
    ASSERT_EQ(url->servers.size(), 2U);
    EXPECT_EQ(url->servers[0].port, 26379);
    EXPECT_EQ(url->servers[1].port, 7000);
    EXPECT_EQ(url->sentinel_master, "my master");
    EXPECT_EQ(url->user, "al");
    EXPECT_EQ(url->password, "secret");
    EXPECT_EQ(url->database, 3);
    EXPECT_EQ(url->shown(), "redis+sentinel://one:26379,two:7000/my master/3");
    const auto tls = parse_redis_url("rediss+sentinel://one/main");
    ASSERT_TRUE(tls) << tls.error().message;
    EXPECT_TRUE(tls->tls);
    EXPECT_EQ(tls->shown(), "rediss+sentinel://one:26379/main");
}

TEST(RedisUrl, IsRecognisedByItsScheme) {
    for (const char* text : {"redis://x",
                             "rediss://x",
                             "redis+socket:///x",
                             "redis+sentinel://x/m",
                             "rediss+sentinel://x/m",
                             "redis:x",
                             "redis+other://x"})
        EXPECT_TRUE(is_redis_url(text)) << text;
    for (const char* text : {"", "redis", "rediss", "redisx://x", "sqlite:redis:", "memory:redis"})
        EXPECT_FALSE(is_redis_url(text)) << text;
}

class RedisUrlRefuses : public testing::TestWithParam<const char*> {};

TEST_P(RedisUrlRefuses, InvalidUrlsWithoutRepeatingSecrets) {
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
                                         "redis://:secret@host,",
                                         "redis://:secret@,host",
                                         "redis://:secret@host,,host",
                                         "redis://:secret@host,ho st",
                                         "redis://:secret@host,host:0",
                                         "redis+sentinel://:secret@host",
                                         "redis+sentinel://:secret@host/",
                                         "redis+sentinel://:secret@host//1",
                                         "redis+sentinel://:secret@host/%zz",
                                         "redis+sentinel://:secret@/main",
                                         "redis+sentinel://:secret@host/main/x",
                                         "redis+other://:secret@host",
                                         "redis+socket://:secret@",
                                         "redis+socket://:secret@host",
                                         "redis+socket://:secret@/a%00b",
                                         "redis+socket://:secret@/a?db=",
                                         "redis+socket://:secret@/a?db=x",
                                         "redis+socket://:secret@/a?database=1"));

TEST(RedisUrl, RejectsAPathTooLongForAUnixSocket) {
    EXPECT_FALSE(parse_redis_url("redis+socket:///" + std::string(107, 'x')));
    EXPECT_TRUE(parse_redis_url("redis+socket:///" + std::string(106, 'x')));
}

}  // namespace
}  // namespace sluice
