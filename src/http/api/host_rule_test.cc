#include "http/api/host_rule.h"

#include <gtest/gtest.h>

#include "http/wire/head_parser.h"

namespace sluice::http {
namespace {

bool allows(const HostRule& rule, const std::string& fields, const std::string& version = "1.1") {
    const std::string head = "GET / HTTP/" + version + "\r\n" + fields + "\r\n";
    RequestView request;
    HeadFacts facts;
    EXPECT_EQ(parse_head(head, request, facts).status, 0) << head;
    return rule.allows(request);
}

TEST(HostRule, AllowsEveryHostUnlessItIsLocal) {
    EXPECT_TRUE(allows(HostRule(), "Host: example.com\r\n"));
    EXPECT_TRUE(allows(HostRule(), "Host: \r\n"));
}

TEST(HostRule, AllowsNamesAndAddressesOfLoopback) {
    const HostRule rule = HostRule::local({});
    for (const std::string host : {"localhost",
                                   "localhost:8080",
                                   "LocalHost:1",
                                   "localhost.",
                                   "api.localhost:8080",
                                   "127.0.0.1",
                                   "127.0.0.1:8080",
                                   "127.255.1.2:80",
                                   "[::1]",
                                   "[::1]:8080",
                                   "[0:0:0:0:0:0:0:1]:8080",
                                   "[::ffff:127.0.0.1]:8080"}) {
        EXPECT_TRUE(allows(rule, "Host: " + host + "\r\n")) << host;
    }
}

TEST(HostRule, RefusesForeignHosts) {
    const HostRule rule = HostRule::local({});
    for (const std::string host : {"example.com",
                                   "example.com:8080",
                                   "localhost.example.com",
                                   "notlocalhost",
                                   "127.0.0.1.example.com",
                                   "127.0.0.1:8080.example.com",
                                   "127.1",
                                   "128.0.0.1",
                                   "0.0.0.0:8080",
                                   "10.0.0.1",
                                   "[::2]:8080",
                                   "[::]",
                                   "[localhost]",
                                   "[::1",
                                   "::1",
                                   "localhost:8080:1",
                                   "localhost:123456",
                                   ":8080",
                                   "."}) {
        EXPECT_FALSE(allows(rule, "Host: " + host + "\r\n")) << host;
    }
    EXPECT_FALSE(allows(rule, "Host: \r\n"));
}

TEST(HostRule, AllowsConfiguredNames) {
    const HostRule rule = HostRule::local({"sluice.internal", "api"});
    EXPECT_TRUE(allows(rule, "Host: Sluice.Internal:8080\r\n"));
    EXPECT_TRUE(allows(rule, "Host: api\r\n"));
    EXPECT_FALSE(allows(rule, "Host: x.sluice.internal\r\n"));
}

TEST(HostRule, AllowsARequestWithoutAHost) {
    EXPECT_TRUE(allows(HostRule::local({}), "", "1.0"));
    EXPECT_FALSE(allows(HostRule::local({}), "Host: example.com\r\n", "1.0"));
}

}  // namespace
}  // namespace sluice::http
