#include "http/api/request_id.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

TEST(RequestId, IsAPrefixAndLettersAndDigits) {
    RequestIdSource source(0x0123456789ABCDEF);
    const std::string id(source.next());
    EXPECT_EQ(id.size(), 30U);
    EXPECT_TRUE(id.starts_with("req_"));
    const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
    EXPECT_TRUE(std::all_of(id.begin() + 4, id.end(), is_plain)) << id;
}

TEST(RequestId, NeverComesTwice) {
    RequestIdSource one(1);
    RequestIdSource other(2);
    std::unordered_set<std::string> seen;
    for (int i = 0; i < 50'000; ++i) {
        EXPECT_TRUE(seen.emplace(one.next()).second);
        EXPECT_TRUE(seen.emplace(other.next()).second);
    }
}

}  // namespace
}  // namespace sluice::http
