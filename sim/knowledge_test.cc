#include "sim/knowledge.h"

#include <gtest/gtest.h>

#include "sim/fault.h"

namespace sluice::sim {
namespace {

constexpr UnixTime kBegan{std::chrono::milliseconds{1'767'225'600'000}};
constexpr std::int64_t kStart = kBegan.time_since_epoch().count();
constexpr Sequence kWindow = kStart / 60'000;

TEST(GrantLog, TellsWhatWasGrantedByATime) {
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

class KnowledgeTest : public testing::Test {
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
    Count of_region(std::int64_t at_ms) const {
        return Knowledge(options_, truth_, kBegan).of_region({0, 1}, 0, kWindow, kStart + at_ms);
    }
    Count of_world(std::int64_t at_ms) const {
        return Knowledge(options_, truth_, kBegan).of_world(0, 0, kWindow, kStart + at_ms);
    }

    Options options_;
    Truth truth_{options_.load, options_.regions};
    const KeyIndex key_ = truth_.add_key("k0", 0);
};

TEST_F(KnowledgeTest, ExpectsWhatTheRegionGrantedLongEnoughAgo) {
    grant(0, 1, 5, 1'000);
    grant(0, 4, 7, 1'000);
    EXPECT_EQ(of_region(16'000), 0U);
    EXPECT_EQ(of_region(16'400), 7U);
}

TEST_F(KnowledgeTest, ExpectsOfOtherRegionsWhatThePolicyPublishes) {
    grant(1, 2, 499, 1'000);
    EXPECT_EQ(of_world(50'000), 0U);
    grant(1, 2, 1, 1'500);
    EXPECT_EQ(of_world(25'000), 0U);
    EXPECT_EQ(of_world(32'000), 500U);
}

TEST_F(KnowledgeTest, ExpectsNothingWhileAFaultIsRecent) {
    grant(0, 4, 7, 1'000);
    grant(1, 2, 900, 1'000);
    ASSERT_FALSE(add_fault("partition:node-1@2s+3s", options_.faults));
    EXPECT_EQ(of_region(16'400), 0U);
    EXPECT_EQ(of_region(33'000), 7U);
    EXPECT_EQ(of_world(50'000), 0U);
    options_.faults = {};
    options_.faults.loss = 20;
    EXPECT_EQ(of_region(33'000), 0U);
}

TEST_F(KnowledgeTest, KnowsWhenTheOriginForgets) {
    EXPECT_FALSE(Knowledge(options_, truth_, kBegan).is_forgotten(kWindow, kStart + 119'999));
    EXPECT_TRUE(Knowledge(options_, truth_, kBegan).is_forgotten(kWindow, kStart + 120'000));
    options_.faults.skew = std::chrono::seconds{1};
    EXPECT_TRUE(Knowledge(options_, truth_, kBegan).is_forgotten(kWindow, kStart + 118'000));
}

TEST_F(KnowledgeTest, ExpectsNothingThatWasLostWithANode) {
    grant(0, 4, 7, 1'000);
    truth_.lose(0, kWindow, 0, Truth::Lost::kToRegion);
    EXPECT_EQ(of_region(33'000), 0U);
}

}  // namespace
}  // namespace sluice::sim
