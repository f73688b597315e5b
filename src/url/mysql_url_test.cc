#include "url/mysql_url.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(MysqlUrl, TakesAHostAndADatabase) {
    const auto url = parse_mysql_url("mysql://db.example/limits");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->host, "db.example");
    EXPECT_EQ(url->port, 3306);
    EXPECT_EQ(url->database, "limits");
    EXPECT_EQ(url->user, "");
    EXPECT_EQ(url->password, "");
    EXPECT_EQ(url->socket_path, "");
    EXPECT_EQ(url->tls, MysqlTls::kDisabled);
    EXPECT_EQ(url->shown(), "mysql://db.example:3306/limits");
}

TEST(MysqlUrl, TakesEverything) {
    const auto url = parse_mysql_url(
        "mysql://al%69ce:p%40ss%2f:w%3Frd@10.0.0.1:3307/my%20limits?ssl-mode=verify&"
        "ssl-ca=/etc/a%26b.pem&ssl-cert=/c.pem&ssl-key=/k.pem");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->password, "p@ss/:w?rd");
    EXPECT_EQ(url->host, "10.0.0.1");
    EXPECT_EQ(url->port, 3307);
    EXPECT_EQ(url->database, "my limits");
    EXPECT_EQ(url->tls, MysqlTls::kVerify);
    EXPECT_EQ(url->ca, "/etc/a&b.pem");
    EXPECT_EQ(url->cert, "/c.pem");
    EXPECT_EQ(url->key, "/k.pem");
    EXPECT_EQ(url->shown(), "mysql://alice@10.0.0.1:3307/my limits");
}

TEST(MysqlUrl, TakesAUserAlone) {
    const auto url = parse_mysql_url("mysql://alice@host/limits?ssl-mode=required");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->password, "");
    EXPECT_EQ(url->tls, MysqlTls::kRequired);
}

TEST(MysqlUrl, TakesAPasswordWithAnAt) {
    const auto url = parse_mysql_url("mysql://alice:se@cret@host/limits");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->password, "se@cret");
    EXPECT_EQ(url->host, "host");
    EXPECT_EQ(url->shown(), "mysql://alice@host:3306/limits");
}

TEST(MysqlUrl, TakesAnIpv6AddressInBrackets) {
    const auto url = parse_mysql_url("mysql://[::1]:3307/limits");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->host, "::1");
    EXPECT_EQ(url->port, 3307);
    EXPECT_EQ(url->shown(), "mysql://[::1]:3307/limits");
}

TEST(MysqlUrl, TakesAUnixSocketWithOrWithoutAHost) {
    const auto url = parse_mysql_url("mysql://alice:secret@/limits?socket=/run/my%20sql.sock");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->socket_path, "/run/my sql.sock");
    EXPECT_EQ(url->user, "alice");
    EXPECT_EQ(url->shown(), "mysql://alice@/limits?socket=/run/my sql.sock");
    EXPECT_EQ(parse_mysql_url("mysql://localhost/limits?socket=/run/a")->shown(),
              "mysql:///limits?socket=/run/a");
}

class MysqlUrlRefuses : public testing::TestWithParam<const char*> {};

TEST_P(MysqlUrlRefuses, ThisAndShowsNoSecret) {
    const auto url = parse_mysql_url(GetParam());
    ASSERT_FALSE(url) << GetParam();
    EXPECT_EQ(url.error().code, kInvalidOption);
    EXPECT_NE(url.error().message.find("allowed is mysql://"), std::string::npos);
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos) << url.error().message;
}

INSTANTIATE_TEST_SUITE_P(Each,
                         MysqlUrlRefuses,
                         testing::Values("",
                                         "secret",
                                         "mariadb://a:secret@host/d",
                                         "mysql:host",
                                         "mysql://",
                                         "mysql://a:secret@",
                                         "mysql://a:secret@host",
                                         "mysql://a:secret@host/",
                                         "mysql://a:secret@/d",
                                         "mysql://a:secret/@host/d",
                                         "mysql://a:secret%4@host/d",
                                         "mysql://a:secret%zz@host/d",
                                         "mysql://a:secret%00@host/d",
                                         "mysql://a:secret@ho st/d",
                                         "mysql://a:secret@host:/d",
                                         "mysql://a:secret@host:0/d",
                                         "mysql://a:secret@host:65536/d",
                                         "mysql://a:secret@host:-1/d",
                                         "mysql://a:secret@host:33x/d",
                                         "mysql://a:secret@host/d/e",
                                         "mysql://a:secret@host/d?",
                                         "mysql://a:secret@host/d?socket",
                                         "mysql://a:secret@host/d?socket=",
                                         "mysql://a:secret@host/d?socket=run",
                                         "mysql://a:secret@host/d?password=secret",
                                         "mysql://a:secret@host/d?ssl-mode=prefered",
                                         "mysql://a:secret@host/d?ssl-ca=/a",
                                         "mysql://a:secret@host/d?ssl-mode=required&ssl-ca=/a",
                                         "mysql://a:secret@host/d?ssl-mode=required&ssl-key=/a",
                                         "mysql://a:secret@host/d?ssl-cert=/a&ssl-key=/a",
                                         "mysql://a:secret@[::1/d",
                                         "mysql://a:secret@[::x]/d",
                                         "mysql://a:secret@[::1]3306/d",
                                         "mysql://a:secret@::1/d"));

TEST(MysqlUrl, RefusesAPathThatNoUnixSocketCanHave) {
    EXPECT_FALSE(parse_mysql_url("mysql:///d?socket=/" + std::string(107, 'x')));
    EXPECT_TRUE(parse_mysql_url("mysql:///d?socket=/" + std::string(106, 'x')));
}

}  // namespace
}  // namespace sluice
