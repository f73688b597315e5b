#include "http/api/request_id.h"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_set>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

// The number that 13 digits of five bits stand for.
std::uint64_t number_of(std::string_view digits) {
    constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    std::uint64_t number = 0;
    for (std::size_t i = digits.size(); i > 0; --i)
        number = number << 5U | kAlphabet.find(digits[i - 1]);
    return number;
}

TEST(RequestId, IsAPrefixAndLettersAndDigits) {
    RequestIdSource source;
    const std::string id(source.next());
    EXPECT_EQ(id.size(), 30U);
    EXPECT_TRUE(id.starts_with("req_"));
    const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
    EXPECT_TRUE(std::all_of(id.begin() + 4, id.end(), is_plain)) << id;
}

TEST(RequestId, NeverComesTwice) {
    RequestIdSource one;
    RequestIdSource other;
    std::unordered_set<std::string> seen;
    for (int i = 0; i < 50'000; ++i) {
        EXPECT_TRUE(seen.emplace(one.next()).second);
        EXPECT_TRUE(seen.emplace(other.next()).second);
    }
}

// Neither half is a counter, plain or scrambled by a function that anybody can undo, and neither
// names the thread.
TEST(RequestId, DoesNotRevealACounter) {
    RequestIdSource source;
    std::unordered_set<std::uint64_t> halves;
    std::unordered_set<std::uint64_t> steps;
    std::uint64_t before = 0;
    std::size_t differing_bits = 0;
    constexpr std::size_t kIds = 10'000;
    for (std::size_t i = 0; i < kIds; ++i) {
        const std::string id(source.next());
        const std::uint64_t second = number_of(std::string_view(id).substr(17));
        EXPECT_TRUE(halves.insert(number_of(std::string_view(id).substr(4, 13))).second) << id;
        EXPECT_TRUE(halves.insert(second).second) << id;
        EXPECT_TRUE(steps.insert(second - before).second) << id;
        differing_bits += static_cast<std::size_t>(std::popcount(second ^ before));
        before = second;
    }
    // 32 of 64 bits on average, within far more than chance moves the mean of 10,000.
    EXPECT_GT(differing_bits, kIds * 31);
    EXPECT_LT(differing_bits, kIds * 33);
}

}  // namespace
}  // namespace sluice::http
