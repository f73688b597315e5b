// Batches whose keys collide in the hash.
#include "decide/batch.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "counter/table.h"

namespace sluice {
namespace {

constexpr std::uint64_t kSeed = 7;
constexpr UnixTime kNow{Duration{6'000'000}};

// SplitMix64, as in KeyHash.
std::uint64_t nth_word(std::uint64_t seed, int n) {
    std::uint64_t z = seed + static_cast<std::uint64_t>(n) * 0x9E37'79B9'7F4A'7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return z ^ (z >> 31U);
}

// Identifiers that hash to the same 64 bits: a first word equal to the secret of the identifier
// makes one factor of the product 0. It takes the seed to make them.
std::string colliding_identifier(char last) {
    const std::uint64_t secret = nth_word(kSeed, 5);
    std::string identifier(12, last);
    std::memcpy(identifier.data(), &secret, sizeof secret);
    return identifier;
}

class CollidingBatchTest : public testing::Test {
  protected:
    static Request request(const std::string& identifier, std::int64_t cost, std::int64_t limit) {
        return {.workspace = "w",
                .name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = Duration{60'000},
                .cost = cost};
    }
    BatchDecision decide(const std::vector<Request>& requests) {
        return *decide_batch(*table_, requests, kNow, SharingRule::kSkip);
    }

    const std::string a_ = colliding_identifier('a');
    const std::string b_ = colliding_identifier('b');
    const std::string c_ = colliding_identifier('c');
    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 100, .sharing = Sharing::kAlone, .seed = kSeed});
};

TEST_F(CollidingBatchTest, TheIdentifiersCollide) {
    const Request a = request(a_, 1, 1);
    const Request b = request(b_, 1, 1);
    ASSERT_EQ(table_->key(a).hash(), table_->key(b).hash());
}

TEST_F(CollidingBatchTest, ALaterRequestForAKeySeesTheEarlierOneBehindACollidingKey) {
    const BatchDecision batch =
        decide({request(a_, 6, 10), request(b_, 11, 10), request(c_, 1, 10), request(a_, 6, 10)});
    EXPECT_FALSE(batch.passed);
    EXPECT_TRUE(batch.decisions[0].passed);
    EXPECT_FALSE(batch.decisions[1].passed);
    EXPECT_TRUE(batch.decisions[2].passed);
    EXPECT_FALSE(batch.decisions[3].passed) << "6 + 6 don't fit into 10";
}

TEST_F(CollidingBatchTest, CollidingKeysHaveBudgetsOfTheirOwn) {
    const std::vector<Request> requests = {
        request(a_, 5, 10), request(b_, 10, 10), request(c_, 7, 10), request(a_, 5, 10)};
    const BatchDecision batch = decide(requests);
    EXPECT_TRUE(batch.passed);
    EXPECT_EQ(batch.decisions[3].remaining, 0);
    EXPECT_EQ(batch.decisions[2].remaining, 3);
    EXPECT_FALSE(decide({request(c_, 4, 10)}).passed);
    EXPECT_TRUE(decide({request(c_, 3, 10)}).passed);
}

}  // namespace
}  // namespace sluice
