#include "regional/origin.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr Duration kWindow{1'000};
constexpr Duration kHalf{500};

// At the start of a window of a second, where the previous cell counts in full.
KeySpend spend(Count own, const std::vector<Ask>& asks) {
    KeySpend spend{.components = {.current = {.workspace = "w",
                                              .name_space = "n",
                                              .identifier = "x",
                                              .duration = kWindow,
                                              .sequence = 10},
                                  .own = {own, 0},
                                  .lifetime = 2 * kWindow},
                   .requests = {}};
    for (const Ask& ask : asks)
        spend.requests.push_back({.elapsed = Duration::zero(), .ask = ask});
    return spend;
}

TEST(DecideAtOrigin, GrantsInOrder) {
    const auto grants = decide_at_origin(spend(0,
                                               {{.cost = 6, .limit = 10},
                                                {.cost = 5, .limit = 10},
                                                {.cost = 4, .limit = 10},
                                                {.cost = 1, .limit = 10}}),
                                         {});
    EXPECT_EQ(grants.granted, (std::vector{true, false, true, false}));
    EXPECT_EQ(grants.totals[0].own, 10U);
    EXPECT_EQ(grants.totals[0].total, 10U);
}

TEST(DecideAtOrigin, DecidesEachRequestByItsOwnLimitAndTime) {
    KeySpend waiting = spend(0,
                             {{.cost = 1, .limit = 5},
                              {.cost = 1, .limit = 10},
                              {.cost = 1, .limit = 9},
                              {.cost = 1, .limit = 5}});
    waiting.requests[3].elapsed = kHalf;
    const auto grants = decide_at_origin(waiting, {CellTotals{}, CellTotals{.total = 8, .own = 0}});
    EXPECT_EQ(grants.granted, (std::vector{false, true, false, false}));
    waiting.requests[3].ask.limit = 6;
    const auto later = decide_at_origin(waiting, {CellTotals{}, CellTotals{.total = 8, .own = 0}});
    EXPECT_TRUE(later.granted[3]) << "half of 8 and 1 are left of the window";
}

TEST(DecideAtOrigin, CountsPeers) {
    const auto grants = decide_at_origin(
        spend(2, {{.cost = 1, .limit = 10}, {.cost = 1, .limit = 10}}), {CellTotals{9, 2}, {}});
    EXPECT_EQ(grants.granted, (std::vector{true, false}));
    EXPECT_EQ(grants.totals[0].own, 3U);
    EXPECT_EQ(grants.totals[0].total, 10U);
}

TEST(DecideAtOrigin, CountsPeersThatTheOriginHasLost) {
    KeySpend waiting = spend(0, {{.cost = 1, .limit = 10}});
    waiting.components.peers = {10, 0};
    EXPECT_FALSE(decide_at_origin(waiting, {CellTotals{4, 0}, {}}).granted[0]);
    waiting.components.peers = {0, 10};
    EXPECT_FALSE(decide_at_origin(waiting, {CellTotals{}, CellTotals{4, 0}}).granted[0]);
    waiting.components.peers = {9, 0};
    EXPECT_TRUE(decide_at_origin(waiting, {CellTotals{4, 0}, {}}).granted[0])
        << "what the origin has of them is not counted twice";
}

TEST(DecideAtOrigin, CountsTheExtra) {
    KeySpend waiting = spend(0, {{.cost = 1, .limit = 10}});
    waiting.extra = {6, 0};
    EXPECT_FALSE(decide_at_origin(waiting, {CellTotals{4, 0}, {}}).granted[0]);
    waiting.extra = {0, 6};
    EXPECT_FALSE(decide_at_origin(waiting, {CellTotals{}, CellTotals{4, 0}}).granted[0]);
    waiting.extra = {5, 0};
    const auto grants = decide_at_origin(waiting, {CellTotals{4, 0}, {}});
    EXPECT_TRUE(grants.granted[0]);
    EXPECT_EQ(grants.totals[0].total, 5U) << "it is no part of the region's components";
}

TEST(DecideAtOrigin, CountsThePreviousCellRoundedUp) {
    KeySpend waiting = spend(0, {{.cost = 1, .limit = 10}});
    waiting.requests[0].elapsed = Duration{999};
    EXPECT_TRUE(decide_at_origin(waiting, {CellTotals{8, 0}, CellTotals{1'000, 0}}).granted[0]);
    EXPECT_FALSE(decide_at_origin(waiting, {CellTotals{8, 0}, CellTotals{1'001, 0}}).granted[0]);
    EXPECT_FALSE(decide_at_origin(waiting, {CellTotals{8, 0}, CellTotals{1'001, 1'001}}).granted[0])
        << "what this node was granted there counts";
}

TEST(DecideAtOrigin, UsesCreditBeforeTheComponentGrows) {
    // Three of the five that the origin holds were granted and their answer was lost.
    const KeyTotals held{CellTotals{10, 5}, {}};
    const auto within = decide_at_origin(spend(2, {{.cost = 2, .limit = 10}}), held);
    EXPECT_EQ(within.granted, std::vector{true});
    EXPECT_EQ(within.totals[0].own, 5U);
    EXPECT_EQ(within.totals[0].total, 10U);
    const auto beyond = decide_at_origin(
        spend(2, {{.cost = 2, .limit = 20}, {.cost = 4, .limit = 20}, {.cost = 1, .limit = 20}}),
        held);
    EXPECT_EQ(beyond.granted, (std::vector{true, true, true}));
    EXPECT_EQ(beyond.totals[0].own, 9U) << "2 and 7, of which 3 are credit";
    EXPECT_EQ(beyond.totals[0].total, 14U);
}

TEST(DecideAtOrigin, CreditIsNotCountedAgainstTheNodeThatHasIt) {
    const KeyTotals full{CellTotals{10, 10}, {}};
    const auto grants = decide_at_origin(spend(0, {{.cost = 10, .limit = 10}}), full);
    EXPECT_EQ(grants.granted, std::vector{true});
    EXPECT_EQ(grants.totals[0].total, 10U);
    EXPECT_FALSE(decide_at_origin(spend(0, {{.cost = 11, .limit = 10}}), full).granted[0]);
}

TEST(DecideAtOrigin, ACostOfZeroPassesUpToTheLimitAndChangesNothing) {
    const auto grants = decide_at_origin(
        spend(4, {{.cost = 0, .limit = 10}, {.cost = 0, .limit = 9}}), {CellTotals{10, 4}, {}});
    EXPECT_EQ(grants.granted, (std::vector{true, false}));
    EXPECT_EQ(grants.totals[0].total, 10U);
    EXPECT_EQ(grants.totals[0].own, 4U);
}

TEST(DecideAtOrigin, ALimitOfZeroDeniesEverything) {
    const auto grants =
        decide_at_origin(spend(0, {{.cost = 0, .limit = 0}, {.cost = 1, .limit = 0}}), {});
    EXPECT_EQ(grants.granted, (std::vector{false, false}));
    EXPECT_EQ(grants.totals[0].total, 0U);
}

TEST(DecideAtOrigin, WithoutRequestsItReturnsTheTotals) {
    const auto grants = decide_at_origin(spend(2, {}), {CellTotals{7, 3}, CellTotals{5, 1}});
    EXPECT_TRUE(grants.granted.empty());
    EXPECT_EQ(grants.totals[0].total, 7U);
    EXPECT_EQ(grants.totals[0].own, 3U);
    EXPECT_EQ(grants.totals[1].total, 5U);
    EXPECT_EQ(grants.totals[1].own, 1U);
}

TEST(DecideAtOrigin, SumsSaturateAtTheLargestCount) {
    const Ask all{.cost = kMaxCount, .limit = kMaxCount};
    const auto empty = decide_at_origin(spend(0, {all, {.cost = 1, .limit = kMaxCount}}), {});
    EXPECT_EQ(empty.granted, (std::vector{true, false}));
    EXPECT_EQ(empty.totals[0].own, kMaxCount);
    EXPECT_EQ(empty.totals[0].total, kMaxCount);

    KeySpend waiting = spend(1, {all, {.cost = 1, .limit = kMaxCount}});
    waiting.components.peers = {kMaxCount, kMaxCount};
    waiting.extra = {kMaxCount, kMaxCount};
    const KeyTotals full{CellTotals{kMaxCount, kMaxCount}, CellTotals{kMaxCount, kMaxCount}};
    const auto grants = decide_at_origin(waiting, full);
    EXPECT_EQ(grants.granted, (std::vector{false, false}));
    EXPECT_EQ(grants.totals[0].own, kMaxCount);
    EXPECT_EQ(grants.totals[0].total, kMaxCount);
}

}  // namespace
}  // namespace sluice
