#include "sim/expectations.h"

#include <gtest/gtest.h>

#include "sim/bounds.h"
#include "sim/options.h"

namespace sluice::sim {
namespace {

constexpr UnixTime kBegan{std::chrono::milliseconds{1'767'225'600'000}};
constexpr std::int64_t kStart = kBegan.time_since_epoch().count();
constexpr Sequence kWindow = kStart / 60'000;

TEST(GrantLog, SumsWhatWasGrantedByATime) {
    GrantLog log;
    log.add({.key = 1, .sequence = 5, .region = 0, .node = 1, .cost = 3, .at_ms = 1'000});
    log.add({.key = 1, .sequence = 5, .region = 0, .node = 2, .cost = 4, .at_ms = 2'000});
    log.add({.key = 1, .sequence = 5, .region = 1, .node = 3, .cost = 5, .at_ms = 2'000});
    log.add({.key = 1, .sequence = 5, .region = 0, .node = 1, .cost = 6, .at_ms = 3'000});
    EXPECT_EQ(log.sum({.key = 1, .sequence = 5, .region = 0, .by_ms = 999}), 0U);
    EXPECT_EQ(log.sum({.key = 1, .sequence = 5, .region = 0, .by_ms = 2'000}), 7U);
    EXPECT_EQ(log.sum({.key = 1, .sequence = 5, .region = 0, .by_ms = 9'000}), 13U);
    EXPECT_EQ(log.sum({.key = 1, .sequence = 5, .region = 0, .by_ms = 9'000, .except_node = 1}),
              4U);
    EXPECT_EQ(log.sum({.key = 1, .sequence = 6, .region = 0, .by_ms = 9'000}), 0U);
}

class ExpectationsTest : public testing::Test {
  protected:
    void grant(std::uint32_t region, std::uint32_t node, Count cost, std::int64_t at_ms) {
        truth_.admit(0, kWindow, region, cost, kStart + at_ms);
        truth_.grants.add({.key = 0,
                           .sequence = kWindow,
                           .region = region,
                           .node = node,
                           .cost = cost,
                           .at_ms = kStart + at_ms});
    }
    Count origin_count(std::int64_t at_ms) const {
        return Expectations(options_, truth_, kBegan).origin_count(0, 0, kWindow, kStart + at_ms);
    }
    Count foreign_count(std::int64_t at_ms) const {
        return Expectations(options_, truth_, kBegan).foreign_count(0, 0, kWindow, kStart + at_ms);
    }

    Options options_;
    Truth truth_{options_.load, options_.regions};
    const KeyIndex key_ = truth_.add_key("k0", 0);
};

// A flush within a second, and the calls.
TEST_F(ExpectationsTest, ExpectsAtTheOriginWhatWasGrantedLongEnoughAgo) {
    grant(0, 1, 5, 3'000);
    grant(0, 4, 7, 3'000);
    EXPECT_EQ(origin_count(4'100), 0U);
    EXPECT_EQ(origin_count(4'110), 12U);
    EXPECT_EQ(longest_unsynced(Duration{2'000}, Moment{0}), Duration{350})
        << "an eighth of a short window";
}

TEST_F(ExpectationsTest, ExpectsOfOtherRegionsWhatThePolicyPublishes) {
    options_.policy = "half";
    grant(1, 2, 499, 1'000);
    EXPECT_EQ(foreign_count(50'000), 0U);
    grant(1, 2, 1, 1'500);
    EXPECT_EQ(foreign_count(25'000), 0U);
    EXPECT_EQ(foreign_count(29'000), 500U);
}

// Before all regions are counted, two share the limit of 1,000: 250 - 1 may be kept back, then
// 1,000 / (2 x 3) - 1 while no other region spends.
TEST_F(ExpectationsTest, ExpectsOfOtherRegionsAllButHalfOfTheirShare) {
    grant(1, 2, 500, 1'000);
    EXPECT_EQ(foreign_count(12'000), 0U) << "the import may come later";
    EXPECT_EQ(foreign_count(20'000), 251U);
    EXPECT_EQ(foreign_count(50'000), 335U);
}

// Region 2 does not know of region 1, whose share it would use otherwise.
TEST_F(ExpectationsTest, ExpectsNoShareOfAnotherRegionThatHasLostItsSpend) {
    grant(1, 2, 170, 30'000);
    grant(0, 1, 900, 30'000);
    EXPECT_EQ(foreign_count(80'000), 102U) << "830 / (4 x 3) - 1 may be kept back";
    truth_.lose(0, kWindow, 0, Truth::Lost::kToRegion);
    EXPECT_EQ(foreign_count(80'000), 5U) << "1,000 / (2 x 3) - 1 may";
}

TEST_F(ExpectationsTest, ExpectsNothingWhileAFaultIsRecent) {
    grant(0, 4, 7, 3'000);
    grant(1, 2, 900, 1'000);
    ASSERT_FALSE(add_fault("partition:node-1@4s+3s", options_.faults));
    EXPECT_EQ(origin_count(6'000), 0U);
    EXPECT_EQ(origin_count(33'000), 7U);
    EXPECT_EQ(foreign_count(50'000), 0U);
    options_.faults = {};
    options_.faults.loss = 20;
    EXPECT_EQ(origin_count(33'000), 0U);
}

TEST_F(ExpectationsTest, ExcusesNodesWhileTheyConnectAndWhileCallsAreSlow) {
    const auto is_quiet = [&](std::int64_t at_ms) {
        return Expectations(options_, truth_, kBegan).is_quiet(0, kStart + at_ms, kStart + at_ms);
    };
    EXPECT_FALSE(is_quiet(6'900)) << "by a view of the first two seconds";
    EXPECT_TRUE(is_quiet(7'100));
    options_.faults.jitter = std::chrono::milliseconds{60};
    EXPECT_FALSE(is_quiet(7'100)) << "a request that waits for two calls may time out";
}

TEST_F(ExpectationsTest, ForgetsCellsWithTheOrigin) {
    EXPECT_FALSE(Expectations(options_, truth_, kBegan).is_forgotten(kWindow, kStart + 119'999));
    EXPECT_TRUE(Expectations(options_, truth_, kBegan).is_forgotten(kWindow, kStart + 120'000));
    options_.faults.skew = std::chrono::seconds{1};
    EXPECT_TRUE(Expectations(options_, truth_, kBegan).is_forgotten(kWindow, kStart + 118'000));
}

TEST_F(ExpectationsTest, ExpectsNothingThatAKilledNodeLost) {
    grant(0, 4, 7, 1'000);
    truth_.lose(0, kWindow, 0, Truth::Lost::kToRegion);
    EXPECT_EQ(origin_count(33'000), 0U);
}

TEST(Membership, CountsNodesThatMayDecideLocally) {
    Membership members;
    const auto count = [&](std::uint32_t node, bool has_joined, Duration sent) {
        members.counted(node,
                        {.has_joined = has_joined, .sent = sent, .answered = sent + Duration{2}});
    };
    count(1, true, Duration{0});
    count(2, true, Duration{500});
    EXPECT_EQ(members.deciding(2'000), 0U) << "both have just joined";
    count(1, false, Duration{1'000});
    count(1, false, Duration{2'000});
    EXPECT_TRUE(members.may_decide(1, 3'002));
    EXPECT_EQ(members.deciding(3'502), 1U) << "the other one's last heartbeat is 3 s old";
    count(2, false, Duration{3'600});
    EXPECT_FALSE(members.may_decide(2, 3'700)) << "it joins again";
    EXPECT_FALSE(members.may_decide(1, 5'000));
    members.left(1);
    count(2, false, Duration{5'000});
    EXPECT_EQ(members.deciding(6'602), 1U);
}

TEST(Membership, ExpiresHeartbeatsToTheNanosecond) {
    constexpr Moment kSent = Duration{1'000} + Moment{800'000};
    const auto may_decide = [&](Moment answered) {
        Membership members;
        members.counted(1, {.has_joined = true, .sent = Duration{0}, .answered = Duration{0}});
        members.counted(1, {.has_joined = false, .sent = kSent, .answered = kSent});
        members.counted(1, {.has_joined = false, .sent = answered, .answered = answered});
        return members.may_decide(1, 4'001);
    };
    EXPECT_TRUE(may_decide(kSent + kCountHolds - Moment{1})) << "in the millisecond of its end";
    EXPECT_FALSE(may_decide(kSent + kCountHolds));
}

}  // namespace
}  // namespace sluice::sim
