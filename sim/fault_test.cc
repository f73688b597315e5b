#include <gtest/gtest.h>

#include "sim/options.h"

namespace sluice::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Fault parsed(std::string_view spec) {
    FaultPlan plan;
    EXPECT_FALSE(add_fault(spec, plan)) << spec;
    EXPECT_EQ(plan.scheduled.size(), 1U) << spec;
    return plan.scheduled.empty() ? Fault{} : plan.scheduled.front();
}

TEST(Fault, ParsesNameTargetTimeAndLength) {
    const Fault fault = parsed("partition:region-2@30s+60s");
    EXPECT_EQ(fault.kind, FaultKind::kPartition);
    EXPECT_EQ(fault.target.kind, Target::Kind::kRegion);
    EXPECT_EQ(fault.target.index, 1U);
    EXPECT_EQ(fault.at, seconds{30});
    EXPECT_EQ(fault.lasts, seconds{60});
}

TEST(Fault, ParsesAmounts) {
    EXPECT_EQ(parsed("origin-slow=20ms@1s+1s").amount, Moment{milliseconds{20}}.count());
    EXPECT_EQ(parsed("clock-step=-2s:node-3@1s").amount, Moment{seconds{-2}}.count());
    EXPECT_EQ(parsed("clock-step=1h:node-1@30s+20s").lasts, seconds{20});
    EXPECT_EQ(parsed("store-busy=0.25@1s+1s").amount, 250);
    EXPECT_EQ(parsed("burst=10@1s+1s").amount, 10'000);
    EXPECT_EQ(parsed("volley=200@1s").amount, 200);
    EXPECT_EQ(parsed("origin-refuses-writes:region-1@1s+1s").kind, FaultKind::kOriginRefusesWrites);
}

TEST(Fault, WithoutATimeAppliesToTheWholeRun) {
    FaultPlan plan;
    for (const char* spec : {"loss=0.05", "duplicate=2%", "delay=2ms", "jitter=3ms", "skew=2s"})
        EXPECT_FALSE(add_fault(spec, plan)) << spec;
    EXPECT_EQ(plan.loss, 50U);
    EXPECT_EQ(plan.duplicate, 20U);
    EXPECT_EQ(plan.delay, milliseconds{2});
    EXPECT_EQ(plan.jitter, milliseconds{3});
    EXPECT_EQ(plan.skew, seconds{2});
    EXPECT_TRUE(plan.scheduled.empty());
}

TEST(Fault, InvalidSpecIsAnErrorThatListsAllFaults) {
    for (const char* spec : {"",
                             "fire@3s",
                             "crash",
                             "crash:node-0@3s",
                             "crash:node-x@3s",
                             "loss=2",
                             "loss=x",
                             "store-down@soon",
                             "store-down@3s+x",
                             "origin-slow=fast@3s",
                             "volley=0@3s",
                             "volley=many@3s",
                             "origin-refuses-writes=1@3s"}) {
        FaultPlan plan;
        const auto error = add_fault(spec, plan);
        ASSERT_TRUE(error) << spec;
        EXPECT_NE(error->message.find("rolling-restart"), std::string::npos) << spec;
        EXPECT_TRUE(plan.scheduled.empty()) << spec;
    }
}

TEST(Permille, IsParsedExactly) {
    EXPECT_EQ(parse_permille("0.9"), 900U);
    EXPECT_EQ(parse_permille("30"), 30'000U);
    EXPECT_EQ(parse_permille("5%"), 50U);
    EXPECT_EQ(parse_permille("0.125"), 125U);
    for (const char* text : {"", "x", "1.", "0.1234", "-1", "1.x"})
        EXPECT_EQ(parse_permille(text), std::nullopt) << text;
}

TEST(Fault, ParsesFaultsOfTheStore) {
    FaultPlan plan;
    ASSERT_FALSE(add_fault("store-failover=30s@40s", plan));
    ASSERT_FALSE(add_fault("store-clock=-40s@1m+20s", plan));
    ASSERT_FALSE(add_fault("store-cleanup=1h@2m", plan));
    ASSERT_EQ(plan.scheduled.size(), 3U);
    EXPECT_EQ(plan.scheduled[0].kind, FaultKind::kStoreFailover);
    EXPECT_EQ(Moment{plan.scheduled[0].amount}, std::chrono::seconds{30});
    EXPECT_EQ(Moment{plan.scheduled[1].amount}, -std::chrono::seconds{40});
    EXPECT_EQ(Moment{plan.scheduled[2].amount}, std::chrono::hours{1});
    EXPECT_TRUE(add_fault("store-cleanup=-1h@2m", plan)) << "a cleaner that is behind is harmless";
}

}  // namespace
}  // namespace sluice::sim
