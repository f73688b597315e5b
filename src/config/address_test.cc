#include "config/address.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::config {
namespace {

TEST(Address, IsAnIpAddressAndAPort) {
    EXPECT_EQ(parse_address("127.0.0.1:8080"), (Address{"127.0.0.1", 8080}));
    EXPECT_EQ(parse_address("[::1]:0"), (Address{"::1", 0}));
    EXPECT_EQ(parse_address("localhost:65535"), (Address{"127.0.0.1", 65535}));
}

TEST(Address, RefusesOtherForms) {
    for (const char* text : {"",
                             ":",
                             "8080",
                             ":8080",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:65536",
                             "127.0.0.1:-1",
                             "127.0.0.1:80 ",
                             "::1:80",
                             "[127.0.0.1]:80",
                             "[::1]",
                             "[]:80",
                             "example.org:80",
                             "1.2.3:80",
                             "*:80"}) {
        EXPECT_EQ(parse_address(text), std::nullopt) << text;
    }
}

TEST(Address, RoundTripsThroughText) {
    for (const char* text : {"127.0.0.1:8080", "[::1]:80", "[::ffff:10.0.0.1]:1"}) {
        EXPECT_EQ(to_string(parse_address(text).value()), text);
    }
}

TEST(Address, IsOnLoopbackOnlyIfNoOtherMachineCanReachIt) {
    for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"}) {
        EXPECT_TRUE(is_loopback(parse_address(text).value())) << text;
    }
    for (const char* text : {"0.0.0.0:1",
                             "10.0.0.1:1",
                             "128.0.0.1:1",
                             "[::]:1",
                             "[fe80::1]:1",
                             "[::ffff:1.0.0.127]:1"}) {
        EXPECT_FALSE(is_loopback(parse_address(text).value())) << text;
    }
}

TEST(Address, MayBeAWildcard) {
    EXPECT_TRUE(is_any(parse_address("0.0.0.0:1").value()));
    EXPECT_TRUE(is_any(parse_address("[::]:1").value()));
    EXPECT_FALSE(is_any(parse_address("127.0.0.1:1").value()));
    EXPECT_FALSE(is_any(parse_address("[::1]:1").value()));
}

}  // namespace
}  // namespace sluice::config
