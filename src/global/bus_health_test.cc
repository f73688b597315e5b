#include "global/bus_health.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const BusHealth::Time kStart{seconds{1'000}};

TEST(BusHealthTest, ABusOnWhichNothingWasSentIsNotSilent) {
    const BusHealth health;
    EXPECT_FALSE(health.is_silent(kStart + std::chrono::hours{1}));
}

TEST(BusHealthTest, ItIsSilentWhenNothingWasReceivedForAWhileAfterTheFirstMessage) {
    BusHealth health;
    health.sent(kStart);
    health.sent(kStart + seconds{2});
    EXPECT_FALSE(health.is_silent(kStart + BusHealth::kSilence - milliseconds{1}));
    EXPECT_TRUE(health.is_silent(kStart + BusHealth::kSilence));
}

TEST(BusHealthTest, WhatIsReceivedEndsTheSilence) {
    BusHealth health;
    health.sent(kStart);
    EXPECT_FALSE(health.received(kStart + seconds{1})) << "it was not silent";
    EXPECT_FALSE(health.is_silent(kStart + seconds{60}));
    health.sent(kStart + seconds{60});
    EXPECT_TRUE(health.is_silent(kStart + seconds{63}));
    EXPECT_TRUE(health.received(kStart + seconds{70}));
    EXPECT_FALSE(health.is_silent(kStart + seconds{70}));
    EXPECT_FALSE(health.received(kStart + seconds{80}));
}

}  // namespace
}  // namespace sluice
