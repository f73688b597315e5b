#include "url/nats_url.h"

#include <string>

#include <gtest/gtest.h>

#include "url/store_url.h"

namespace sluice {
namespace {

TEST(NatsUrlTest, TakesAHostAlone) {
    const auto url = parse_nats_url("nats://bus.example");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_FALSE(url->tls);
    ASSERT_EQ(url->servers.size(), 1U);
    EXPECT_EQ(url->servers[0].host, "bus.example");
    EXPECT_EQ(url->servers[0].port, 4222);
    EXPECT_EQ(url->user + url->password + url->token, "");
    EXPECT_EQ(url->shown(), "nats://bus.example:4222");
}

TEST(NatsUrlTest, TakesALoginAndSeveralHosts) {
    const auto url = parse_nats_url("tls://al%69ce:p%40ss,w@rd@one:5222,10.0.0.2,[::1]:7/");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->password, "p@ss,w@rd");
    EXPECT_EQ(url->token, "");
    EXPECT_EQ(url->shown(), "tls://one:5222,10.0.0.2:4222,[::1]:7");
}

TEST(NatsUrlTest, TakesATokenInsteadOfAUser) {
    const auto url = parse_nats_url("nats://s%2Fecret@host");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->token, "s/ecret");
    EXPECT_EQ(url->user + url->password, "");
    EXPECT_EQ(url->shown(), "nats://host:4222");
}

TEST(NatsUrlTest, TakesUpTo64Hosts) {
    std::string text = "nats://h0";
    for (int i = 1; i < 64; ++i)
        text += ",h" + std::to_string(i);
    EXPECT_TRUE(parse_nats_url(text));
    EXPECT_FALSE(parse_nats_url(text + ",h64"));
}

class NatsUrlRefuses : public testing::TestWithParam<const char*> {};

TEST_P(NatsUrlRefuses, InvalidUrlsWithoutRepeatingSecrets) {
    const auto url = parse_nats_url(GetParam());
    ASSERT_FALSE(url) << GetParam();
    EXPECT_EQ(url.error().code, kInvalidOption);
    EXPECT_NE(url.error().message.find("allowed are nats://"), std::string::npos);
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos) << url.error().message;
}

INSTANTIATE_TEST_SUITE_P(Each,
                         NatsUrlRefuses,
                         testing::Values("",
                                         "secret",
                                         "http://a:secret@host",
                                         "nats:host",
                                         "nats://",
                                         "nats://a:secret@",
                                         "nats://:secret@host",
                                         "nats://secret:@host",
                                         "nats://@host",
                                         "nats://a:secret%4@host",
                                         "nats://a:secret%00@host",
                                         "nats://secret%zz@host",
                                         "nats://a:secret@ho st",
                                         "nats://a:secret@host:0",
                                         "nats://a:secret@host:65536",
                                         "nats://a:secret@host,",
                                         "nats://a:secret@,host",
                                         "nats://a:secret@host,,host",
                                         "nats://a:secret@host/path",
                                         "nats://a:secret@[::1",
                                         "nats://a:secret@host,nats://host"));

TEST(BusUrl, IsCheckedAndShownWithoutSecrets) {
    EXPECT_FALSE(invalid_bus("nats://a:secret@host"));
    EXPECT_FALSE(invalid_bus("memory:x"));
    EXPECT_EQ(shown_bus("tls://secret@host"), "tls://host:4222");
    EXPECT_EQ(shown_bus("memory:x"), "memory:x");
    EXPECT_EQ(shown_bus("secret"), "");
    for (const char* text : {"secret", "redis://secret", "memory:", ""}) {
        const auto error = invalid_bus(text);
        ASSERT_TRUE(error) << text;
        EXPECT_TRUE(error->message.starts_with("bus is ")) << error->message;
        EXPECT_EQ(error->message.find("secret"), std::string::npos) << error->message;
    }
}

}  // namespace
}  // namespace sluice
