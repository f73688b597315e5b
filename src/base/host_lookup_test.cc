#include "base/host_lookup.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

namespace sluice {
namespace {

// Waits until the lookup has ended.
Result<Addresses> result_of(HostLookup lookup) {
    pollfd polled{lookup.descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 60'000), 1);
    return lookup.take();
}

TEST(HostLookup, FindsAnAddressInFiguresAtOnce) {
    auto lookup = HostLookup::start("127.0.0.1", 6379);
    ASSERT_TRUE(lookup);
    pollfd polled{lookup->descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&polled, 1, 0), 1) << "it needs no thread";
    const auto addresses = lookup->take();
    ASSERT_TRUE(addresses);
    ASSERT_EQ((*addresses)->ai_family, AF_INET);
    EXPECT_EQ(reinterpret_cast<const sockaddr_in*>((*addresses)->ai_addr)->sin_port, htons(6379));
}

TEST(HostLookup, FindsANameOfTheHostsFile) {
    auto lookup = HostLookup::start("localhost", 1);
    ASSERT_TRUE(lookup);
    EXPECT_TRUE(result_of(*std::move(lookup)));
}

TEST(HostLookup, ReportsANameThatIsNotThere) {
    auto lookup = HostLookup::start("no such name", 1);
    ASSERT_TRUE(lookup);
    const auto addresses = result_of(*std::move(lookup));
    ASSERT_FALSE(addresses);
    EXPECT_FALSE(addresses.error().message.empty());
}

TEST(HostLookup, MayBeAbandoned) {
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(HostLookup::start("localhost", 1));
}

}  // namespace
}  // namespace sluice
