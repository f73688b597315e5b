#include "url/xds_url.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string fault_of(const std::string& text) {
    const auto url = parse_xds_url(text);
    return url ? "" : url.error().message.substr(0, url.error().message.find(';'));
}

TEST(XdsUrlTest, TakesAServerAndANode) {
    const auto url = parse_xds_url("xds://gateway.example:18001?node=ratelimit");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_FALSE(url->tls);
    EXPECT_EQ(url->server.host, "gateway.example");
    EXPECT_EQ(url->server.port, 18001);
    EXPECT_EQ(url->node, "ratelimit");
    EXPECT_EQ(url->cluster, "");
}

TEST(XdsUrlTest, TakesTlsAClusterAndEncodedText) {
    const auto url = parse_xds_url("xdss://[::1]:1/?cluster=a%26b&node=n%201");
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_TRUE(url->tls);
    EXPECT_EQ(url->server.host, "::1");
    EXPECT_EQ(url->node, "n 1");
    EXPECT_EQ(url->cluster, "a&b");
    EXPECT_EQ(to_string(*url), "xdss://[::1]:1?node=n%201&cluster=a%26b");
    EXPECT_EQ(to_string(*parse_xds_url(to_string(*url))), to_string(*url));
}

TEST(XdsUrlTest, NamesWhatIsWrong) {
    EXPECT_EQ(fault_of("http://h:1?node=n"), "the xDS URL begins with neither xds:// nor xdss://");
    EXPECT_EQ(fault_of("xds://h?node=n"), "the xDS URL has no port");
    EXPECT_EQ(fault_of("xds://h:0?node=n"),
              "the xDS URL has a port that is no number from 1 to 65535");
    EXPECT_EQ(fault_of("xds://?node=n"), "the xDS URL has no valid host name");
    EXPECT_EQ(fault_of("xds://h:1"), "the xDS URL has no node");
    EXPECT_EQ(fault_of("xds://h:1?"),
              "the xDS URL has an option that is neither node=ID nor cluster=NAME");
    EXPECT_EQ(fault_of("xds://h:1?node=n&nod=m"), fault_of("xds://h:1?"));
    EXPECT_EQ(fault_of("xds://h:1?node=n&node=m"), "the xDS URL has an option twice");
    EXPECT_EQ(fault_of("xds://h:1?node=%2"), "the xDS URL has a % without two hexadecimal digits");
    const std::string unprintable =
        "the xDS URL has a node or cluster that is empty, too long or not printable";
    EXPECT_EQ(fault_of("xds://h:1?node="), unprintable);
    EXPECT_EQ(fault_of("xds://h:1?node=%0A"), unprintable);
    EXPECT_EQ(fault_of("xds://h:1?node=" + std::string(257, 'n')), unprintable);
}

}  // namespace
}  // namespace sluice
