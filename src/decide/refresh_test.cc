// What a decision does where its counts are one part of a region's: the seam that the regional
// layer plugs into.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/table.h"
#include "decide/batch.h"
#include "decide/single.h"

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};
constexpr UnixTime kNow{Duration{6'000'000}};
constexpr Sequence kSequence = 100;

class RefreshTest : public testing::Test {
  protected:
    static Request request(std::string_view identifier, std::int64_t cost, std::int64_t limit) {
        return {.name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = kMinute,
                .cost = cost};
    }
    Outcome decide_one(const Request& request, Freshness freshness = Freshness::kAsHeld) {
        if (freshness == Freshness::kAsHeld)
            return decide<true>(*table_, request, CallersTime{kNow}, decision_);
        return decide_by_what_is_held(*table_, request, kNow, decision_);
    }
    Entry& entry(std::string_view identifier) {
        const EpochPin pin;
        Instant at{};
        const Request peek = request(identifier, 0, 1);
        return table_->entry_for(table_->key(peek), kNow, at);
    }

    std::unique_ptr<Table> table_ =
        *Table::create({.max_keys = 100, .sharing = Sharing::kShared, .seed = 1});
    Decision decision_{};
};

TEST_F(RefreshTest, AColdKeyAsksForAFresherCountAndSpendsNothing) {
    EXPECT_EQ(decide_one(request("a", 3, 100)), Outcome::kNeedsRefresh);
    EXPECT_EQ(entry("a").spent(kSequence), 0U);
    EXPECT_TRUE(table_->changed().take().changed.empty());
    EXPECT_EQ(decide_one(request("a", 3, 100), Freshness::kJustRefreshed), Outcome::kPassed);
    EXPECT_EQ(Components(entry("a")).of(kSequence), 3U);
    EXPECT_EQ(table_->changed().take().changed.size(), 1U);
}

TEST_F(RefreshTest, AFreshKeyDecidesAtOnce) {
    entry("a").set_refreshed(kNow);
    EXPECT_EQ(decide_one(request("a", 3, 100)), Outcome::kPassed);
}

TEST_F(RefreshTest, ADenialThatHeldCountsProveNeedsNoRefreshAndMakesTheKeyStrict) {
    entry("a").set_refreshed(kNow);
    entry("a").raise_others(kSequence, 70);
    entry("a").raise_global(kSequence, 10);
    EXPECT_EQ(decide_one(request("a", 21, 100)), Outcome::kDenied);
    ASSERT_TRUE(decision_.retry_at.has_value());
    EXPECT_EQ(table_->tally().strict_activations.load(), 1U);
    EXPECT_EQ(decide_one(request("a", 1, 100)), Outcome::kNeedsRefresh)
        << "a pass in strict mode must refresh";
    EXPECT_EQ(decide_one(request("a", 21, 100)), Outcome::kDenied) << "a denial need not";
    EXPECT_EQ(decide_one(request("a", 1, 100), Freshness::kJustRefreshed), Outcome::kPassed);
    EXPECT_TRUE(entry("a").is_strict(kNow + kMinute - Duration{1}))
        << "strict mode outlives the rollover";
    EXPECT_EQ(Components(entry("a")).of(kSequence), 1U)
        << "what others spent is never settled as our own";
}

TEST_F(RefreshTest, ADenialThatNoCountCouldAvoidLeavesTheKeyAsItWas) {
    entry("a").set_refreshed(kNow);
    EXPECT_EQ(decide_one(request("a", 101, 100)), Outcome::kDenied) << "cost above limit";
    EXPECT_EQ(decide_one(request("a", 1, 0)), Outcome::kDenied) << "limit 0";
    EXPECT_EQ(decide_one(request("a", 0, 0)), Outcome::kDenied) << "limit 0, no cost";
    EXPECT_FALSE(entry("a").is_strict(kNow));
    EXPECT_EQ(table_->tally().strict_activations.load(), 0U);
    EXPECT_EQ(decide_one(request("a", 1, 100)), Outcome::kPassed) << "it need not refresh";
}

TEST_F(RefreshTest, ABatchThatNoCountCouldPassLeavesItsKeysAsTheyWere) {
    for (const char* identifier : {"a", "b", "c"})
        entry(identifier).set_refreshed(kNow);
    // Together, the two requests for "b" ask for more than its limit.
    const std::array batch{
        request("a", 101, 100), request("b", 60, 100), request("b", 60, 100), request("c", 1, 0)};
    const auto decided = decide_batch(*table_, batch, kNow, Freshness::kAsHeld);
    ASSERT_TRUE(decided.has_value());
    EXPECT_FALSE(decided->decisions[0].passed);
    EXPECT_TRUE(decided->decisions[1].passed);
    EXPECT_FALSE(decided->decisions[2].passed);
    EXPECT_FALSE(decided->decisions[3].passed);
    EXPECT_EQ(table_->tally().strict_activations.load(), 0U);
    for (const char* identifier : {"a", "b", "c"})
        EXPECT_FALSE(entry(identifier).is_strict(kNow)) << identifier;
}

TEST_F(RefreshTest, ABatchThatCountsDenyMakesTheKeysThatDeniedItStrict) {
    entry("a").raise_others(kSequence, 50);
    const std::array batch{request("a", 50, 100), request("a", 50, 100), request("b", 1, 100)};
    const auto decided = decide_batch(*table_, batch, kNow, Freshness::kAsHeld);
    ASSERT_TRUE(decided.has_value());
    EXPECT_TRUE(decided->decisions[0].passed);
    EXPECT_FALSE(decided->decisions[1].passed);
    EXPECT_TRUE(entry("a").is_strict(kNow));
    EXPECT_FALSE(entry("b").is_strict(kNow));
    EXPECT_EQ(table_->tally().strict_activations.load(), 1U);
}

TEST_F(RefreshTest, ThePreviousCellOfOthersWeighsIn) {
    entry("a").set_refreshed(kNow);
    entry("a").raise_others(kSequence - 1, 6);
    entry("a").raise_global(kSequence - 1, 4);
    EXPECT_EQ(decide_one(request("a", 1, 10)), Outcome::kDenied);
    EXPECT_EQ(decide_one(request("a", 1, 11)), Outcome::kNeedsRefresh);
}

TEST_F(RefreshTest, ABatchAsksForAllOrDecidesAll) {
    const std::array batch{request("a", 1, 100), request("b", 1, 100), request("c", 1, 100)};
    entry("a").set_refreshed(kNow);
    std::vector<std::size_t> stale;
    EXPECT_FALSE(decide_batch(*table_, batch, kNow, Freshness::kAsHeld, &stale).has_value());
    std::ranges::sort(stale);
    EXPECT_EQ(stale, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(entry("a").spent(kSequence), 0U) << "the fresh half of the batch leaked";
    const auto decided = decide_batch(*table_, batch, kNow, Freshness::kJustRefreshed);
    ASSERT_TRUE(decided.has_value());
    EXPECT_TRUE(decided->passed);
    EXPECT_EQ(Components(entry("b")).of(kSequence), 1U);
}

TEST_F(RefreshTest, ABatchThatHeldCountsDenyNeedsNoRefresh) {
    entry("full").raise_others(kSequence, 10);
    const std::array batch{request("cold", 1, 10), request("full", 1, 10), request("cold", 1, 10)};
    const auto decided = decide_batch(*table_, batch, kNow, Freshness::kAsHeld);
    ASSERT_TRUE(decided.has_value());
    EXPECT_FALSE(decided->passed);
    EXPECT_TRUE(decided->decisions[0].passed);
    EXPECT_FALSE(decided->decisions[1].passed);
    EXPECT_EQ(decided->decisions[2].remaining, 10);
    EXPECT_EQ(entry("cold").spent(kSequence), 0U);
}

}  // namespace
}  // namespace sluice
