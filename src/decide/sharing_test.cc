// Decisions of a node that shares its limits with peers, without a regional layer.
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

class SharingTest : public testing::Test {
  protected:
    SharingTest() { table_->set_nodes(5); }

    static Request request(std::string_view identifier, std::int64_t cost, std::int64_t limit) {
        return {.name_space = "n",
                .identifier = identifier,
                .limit = limit,
                .duration = kMinute,
                .cost = cost};
    }
    AdmitOutcome decide_one(const Request& request, SharingRule rule = SharingRule::kApply) {
        if (rule == SharingRule::kApply)
            return decide<true>(*table_, request, CallersTime{kNow}, decision_);
        return decide_from_local(*table_, request, kNow, decision_);
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

TEST_F(SharingTest, LeavesAColdKeyToTheOriginAndSpendsNothing) {
    EXPECT_EQ(decide_one(request("a", 3, 100)), AdmitOutcome::kAskOrigin);
    EXPECT_EQ(entry("a").spent(kSequence), 0U);
    EXPECT_TRUE(table_->changed().take().changed.empty());
    EXPECT_EQ(decide_one(request("a", 3, 100), SharingRule::kSkip), AdmitOutcome::kPassed);
    EXPECT_EQ(Components(entry("a")).of(kSequence), 3U);
    EXPECT_EQ(table_->changed().take().changed.size(), 1U);
}

// With 5 nodes, a node's share of 120 is 3.
TEST_F(SharingTest, PassesWithinItsShareAndDefersBeyondIt) {
    entry("a").set_refreshed(kNow);
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kPassed);
    EXPECT_TRUE(table_->changed().take_urgent().empty()) << "less than half of its share";
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kPassed);
    EXPECT_EQ(table_->changed().take_urgent().size(), 1U) << "more than half of it";
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kAskOrigin);
    entry("a").set_synced(kSequence, 2);
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kPassed) << "it was flushed";
}

TEST_F(SharingTest, HasTheFloorWithAnOldViewAndAfterADenial) {
    for (const bool is_old : {true, false}) {
        Entry& one = entry(is_old ? "old" : "denied");
        one.set_refreshed(kNow - Duration{is_old ? 5'001 : 0});
        if (!is_old) one.make_strict(kNow, kNow + kMinute);
        const Request ask = request(is_old ? "old" : "denied", 1, 1'000);  // the floor is 2
        EXPECT_EQ(decide_one(ask), AdmitOutcome::kPassed);
        EXPECT_EQ(decide_one(ask), AdmitOutcome::kPassed);
        EXPECT_EQ(decide_one(ask), AdmitOutcome::kAskOrigin);
    }
}

// With 5 nodes, a limit of 122 has a share of 3 and a floor of 0.
TEST_F(SharingTest, PassesOneRequestWithinItsShareWithAnOldView) {
    entry("a").set_refreshed(kNow - kMinute);
    EXPECT_EQ(decide_one(request("a", 2, 122)), AdmitOutcome::kAskOrigin) << "a cost of 2";
    EXPECT_EQ(decide_one(request("a", 1, 80)), AdmitOutcome::kAskOrigin) << "79 are left";
    EXPECT_EQ(decide_one(request("a", 1, 81)), AdmitOutcome::kPassed);
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kAskOrigin) << "1 is unsynced";
    entry("a").set_synced(kSequence, 1);
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kPassed);
    entry("a").set_synced(kSequence, 2);
    entry("a").make_strict(kNow, kNow + kMinute);
    EXPECT_EQ(decide_one(request("a", 1, 122)), AdmitOutcome::kAskOrigin) << "after a denial";
}

TEST_F(SharingTest, HasNoShareWithAViewFromBeforeThePreviousWindow) {
    const Request ask = request("a", 1, 122);
    entry("a").set_refreshed(kNow - kMinute - Duration{1});
    EXPECT_EQ(decide_one(ask), AdmitOutcome::kAskOrigin);
    entry("a").set_refreshed(kNow - kMinute);
    EXPECT_EQ(decide_one(ask), AdmitOutcome::kPassed);
}

TEST_F(SharingTest, LeavesEverythingToTheOriginWhileTheNodeCountIsUnknown) {
    table_->set_nodes(kUnknownNodes);
    entry("a").set_refreshed(kNow);
    EXPECT_EQ(decide_one(request("a", 1, 1'000'000)), AdmitOutcome::kAskOrigin);
}

TEST_F(SharingTest, TheOnlyNodeDefersOnlyKeysThatItNeverRead) {
    table_->set_nodes(1);
    EXPECT_EQ(decide_one(request("a", 1, 10)), AdmitOutcome::kAskOrigin);
    entry("a").set_refreshed(kNow - kMinute);
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(decide_one(request("a", 1, 10)), AdmitOutcome::kPassed);
    EXPECT_EQ(decide_one(request("a", 1, 10)), AdmitOutcome::kDenied);
    EXPECT_TRUE(table_->changed().take_urgent().empty());
}

TEST_F(SharingTest, EntersAGrantWithoutAFlush) {
    entry("a").raise_peers(kSequence, 3);
    const Request ask = request("a", 2, 10);
    {
        const EpochPin pin;
        enter_grant(*table_, table_->key(ask).hashed_request(), kNow, {kSequence, 0}, decision_);
    }
    EXPECT_TRUE(decision_.passed);
    EXPECT_EQ(decision_.remaining, 5);
    EXPECT_EQ(entry("a").admitted(kSequence).of(kSequence), 2U);
    EXPECT_TRUE(table_->changed().take().changed.empty());
}

// The comparisons that most requests end with say the same as the rule.
TEST_F(SharingTest, TheFastPathAgreesWithTheRule) {
    std::uint64_t state = 1;
    const auto below = [&state](std::uint64_t bound) {
        state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return (state >> 33U) % bound;
    };
    for (int i = 0; i < 100'000; ++i) {
        Entry& one = entry("a");
        one.set_refreshed(kNow - Duration{static_cast<std::int64_t>(below(6'000)) - 100});
        one.set_synced(kSequence, below(50));
        const Count limit = 1 + below(5'000);
        const LocalPass pass{.at = {.sequence = kSequence, .elapsed = Duration{0}},
                             .now = kNow,
                             .ask = {.cost = below(3), .limit = limit},
                             .own = {.current = below(60), .previous = below(3)},
                             .remaining = below(limit),
                             .nodes = static_cast<NodeCount>(below(4))};
        const LocalVerdict full = apply_rule(one, pass);
        ASSERT_EQ(local_verdict(one, pass), full) << i;
    }
}

TEST_F(SharingTest, ADenialThatHeldCountsProveNeedsNoRefreshAndMakesTheKeyStrict) {
    entry("a").set_refreshed(kNow);
    entry("a").raise_peers(kSequence, 70);
    entry("a").raise_global(kSequence, 10);
    EXPECT_EQ(decide_one(request("a", 21, 100)), AdmitOutcome::kDenied);
    ASSERT_TRUE(decision_.retry_at.has_value());
    EXPECT_EQ(table_->tally().strict_activations.load(), 1U);
    EXPECT_EQ(decide_one(request("a", 1, 100)), AdmitOutcome::kAskOrigin)
        << "in strict mode, a pass beyond the floor is the origin's";
    EXPECT_EQ(decide_one(request("a", 21, 100)), AdmitOutcome::kDenied) << "a denial need not";
    EXPECT_EQ(decide_one(request("a", 1, 100), SharingRule::kSkip), AdmitOutcome::kPassed);
    EXPECT_TRUE(entry("a").is_strict(kNow + kMinute - Duration{1}))
        << "strict mode outlives the rollover";
    EXPECT_EQ(Components(entry("a")).of(kSequence), 1U)
        << "counts of peers are never settled as our own";
}

TEST_F(SharingTest, ADenialThatNoCountCouldAvoidLeavesTheKeyAsItWas) {
    entry("a").set_refreshed(kNow);
    EXPECT_EQ(decide_one(request("a", 101, 100)), AdmitOutcome::kDenied) << "cost above limit";
    EXPECT_EQ(decide_one(request("a", 1, 0)), AdmitOutcome::kDenied) << "limit 0";
    EXPECT_EQ(decide_one(request("a", 0, 0)), AdmitOutcome::kDenied) << "limit 0, no cost";
    EXPECT_FALSE(entry("a").is_strict(kNow));
    EXPECT_EQ(table_->tally().strict_activations.load(), 0U);
    EXPECT_EQ(decide_one(request("a", 1, 100)), AdmitOutcome::kPassed) << "it is not strict";
}

TEST_F(SharingTest, ABatchThatNoCountCouldPassLeavesItsKeysAsTheyWere) {
    for (const char* identifier : {"a", "b", "c"})
        entry(identifier).set_refreshed(kNow);
    // Together, the two requests for "b" ask for more than its limit.
    const std::array batch{
        request("a", 101, 100), request("b", 60, 100), request("b", 60, 100), request("c", 1, 0)};
    const auto decided = decide_batch(*table_, batch, kNow, SharingRule::kApply);
    ASSERT_TRUE(decided.has_value());
    EXPECT_FALSE(decided->decisions[0].passed);
    EXPECT_TRUE(decided->decisions[1].passed);
    EXPECT_FALSE(decided->decisions[2].passed);
    EXPECT_FALSE(decided->decisions[3].passed);
    EXPECT_EQ(table_->tally().strict_activations.load(), 0U);
    for (const char* identifier : {"a", "b", "c"})
        EXPECT_FALSE(entry(identifier).is_strict(kNow)) << identifier;
}

TEST_F(SharingTest, ABatchThatCountsDenyMakesTheKeysThatDeniedItStrict) {
    entry("a").raise_peers(kSequence, 50);
    const std::array batch{request("a", 50, 100), request("a", 50, 100), request("b", 1, 100)};
    const auto decided = decide_batch(*table_, batch, kNow, SharingRule::kApply);
    ASSERT_TRUE(decided.has_value());
    EXPECT_TRUE(decided->decisions[0].passed);
    EXPECT_FALSE(decided->decisions[1].passed);
    EXPECT_TRUE(entry("a").is_strict(kNow));
    EXPECT_FALSE(entry("b").is_strict(kNow));
    EXPECT_EQ(table_->tally().strict_activations.load(), 1U);
}

TEST_F(SharingTest, ThePreviousCellOfPeersCounts) {
    entry("a").set_refreshed(kNow);
    entry("a").raise_peers(kSequence - 1, 6);
    entry("a").raise_global(kSequence - 1, 4);
    EXPECT_EQ(decide_one(request("a", 1, 10)), AdmitOutcome::kDenied);
    EXPECT_EQ(decide_one(request("a", 1, 11)), AdmitOutcome::kAskOrigin);
}

TEST_F(SharingTest, ABatchDefersAllOrDecidesAll) {
    const std::array batch{request("a", 1, 100), request("b", 1, 100), request("c", 1, 100)};
    entry("a").set_refreshed(kNow);
    std::vector<std::size_t> stale;
    EXPECT_FALSE(decide_batch(*table_, batch, kNow, SharingRule::kApply, &stale).has_value());
    std::ranges::sort(stale);
    EXPECT_EQ(stale, (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(entry("a").spent(kSequence), 0U) << "the fresh half of the batch leaked";
    const auto decided = decide_batch(*table_, batch, kNow, SharingRule::kSkip);
    ASSERT_TRUE(decided.has_value());
    EXPECT_TRUE(decided->passed);
    EXPECT_EQ(Components(entry("b")).of(kSequence), 1U);
}

TEST_F(SharingTest, ABatchThatHeldCountsDenyNeedsNoRefresh) {
    entry("full").raise_peers(kSequence, 10);
    const std::array batch{request("cold", 1, 10), request("full", 1, 10), request("cold", 1, 10)};
    const auto decided = decide_batch(*table_, batch, kNow, SharingRule::kApply);
    ASSERT_TRUE(decided.has_value());
    EXPECT_FALSE(decided->passed);
    EXPECT_TRUE(decided->decisions[0].passed);
    EXPECT_FALSE(decided->decisions[1].passed);
    EXPECT_EQ(decided->decisions[2].remaining, 10);
    EXPECT_EQ(entry("cold").spent(kSequence), 0U);
}

}  // namespace
}  // namespace sluice
