// When a node may decide on what it has heard of the others.
#include "decide/trust.h"

#include <random>

#include <gtest/gtest.h>

#include "counter/epoch.h"
#include "counter/key_hash.h"
#include "counter/table.h"

namespace sluice {
namespace {

constexpr Duration kMinute{60'000};
constexpr UnixTime kBegan{Duration{600'000}};
constexpr Count kLimit = 1'000;

class TrustTest : public testing::Test {
  protected:
    // Whether a request `elapsed` into the window, which leaves `remaining`, may rely on it.
    bool relies(Duration elapsed, Count remaining, Count cost = 1) const {
        const UnixTime now = kBegan + elapsed;
        return may_rely(entry_, instant_at(now, kMinute), now, {cost, kLimit}, remaining);
    }

    Request request_{.workspace = "w", .name_space = "n", .identifier = "i", .duration = kMinute};
    Entry entry_{LimitKey(request_, KeyHash(1)), kBegan, UnixTime{}, Sharing::kShared};
};

TEST_F(TrustTest, NeverRelyOnNothing) {
    EXPECT_FALSE(relies(Duration{0}, kLimit));
}

TEST_F(TrustTest, RelyForFiveSecondsWhereNearlyAllIsLeft) {
    entry_.set_refreshed(kBegan + Duration{10'000});
    EXPECT_TRUE(relies(Duration{14'990}, 999));
    EXPECT_FALSE(relies(Duration{15'001}, 1'000));
}

TEST_F(TrustTest, RelyForLessTheLessIsLeft) {
    entry_.set_refreshed(kBegan + Duration{10'000});
    EXPECT_TRUE(relies(Duration{10'500}, 100));
    EXPECT_FALSE(relies(Duration{10'501}, 100));
}

TEST_F(TrustTest, AlwaysAskForTheLastFew) {
    entry_.set_refreshed(kBegan);
    EXPECT_FALSE(relies(Duration{0}, 7));
    EXPECT_TRUE(relies(Duration{0}, 8));
    EXPECT_FALSE(relies(Duration{0}, 799, 100));
    EXPECT_FALSE(relies(Duration{0}, 7, 0)) << "a peek tells what a request would get";
}

TEST_F(TrustTest, NeverRelyWhileStrict) {
    entry_.set_refreshed(kBegan);
    entry_.make_strict(kBegan, kBegan + kMinute);
    EXPECT_FALSE(relies(Duration{1}, kLimit));
    EXPECT_FALSE(relies(kMinute - Duration{1}, kLimit));
}

TEST_F(TrustTest, WhoWasUpToDateWhenTheWindowBeganIsSo) {
    entry_.set_refreshed(kBegan - Duration{4'900});
    EXPECT_TRUE(relies(Duration{4'900}, 999)) << "without a question at the boundary";
    EXPECT_FALSE(relies(Duration{5'001}, 999));
    entry_.set_refreshed(kBegan - Duration{5'001});
    EXPECT_FALSE(relies(Duration{0}, 999)) << "what others spent last in the previous one counts";
}

TEST_F(TrustTest, AnOldCountAdmitsOneRequestUntilThatIsHeardOf) {
    const auto table = *Table::create({.max_keys = 10, .sharing = Sharing::kShared, .seed = 1});
    Entry* entry = nullptr;
    const auto relies_at = [&](Duration elapsed, Count remaining = 900) {
        const UnixTime now = kBegan + elapsed;
        return may_rely(*entry, instant_at(now, kMinute), now, {1, kLimit}, remaining);
    };
    {
        const EpochPin pin;
        Instant at{};
        entry = &table->entry_for(table->key(request_), kBegan, at);
    }
    entry->set_refreshed(kBegan);
    EXPECT_TRUE(relies_at(Duration{3'000}));
    EXPECT_TRUE(table->changed().mark(*entry));
    EXPECT_FALSE(relies_at(Duration{3'000}));
    EXPECT_TRUE(relies_at(Duration{2'500})) << "a key in use doesn't wait";
    EXPECT_TRUE(relies_at(Duration{4'900}, 985)) << "nor one whose limit is far, told seldom";
    EXPECT_FALSE(relies_at(Duration{5'001}, 985));
    entry->set_refreshed(kBegan + Duration{3'000});
    EXPECT_TRUE(relies_at(Duration{3'001}));
}

TEST_F(TrustTest, AClockThatStepsBackMakesNothingYounger) {
    entry_.set_refreshed(kBegan + Duration{20'000});
    EXPECT_FALSE(relies(Duration{10'000}, kLimit));
}

// The short way never trusts what the long one does not.
TEST_F(TrustTest, TheShortWayErrsOnTheSafeSide) {
    std::mt19937_64 random(1);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    for (int i = 0; i < 200'000; ++i) {
        request_.duration = Duration{static_cast<std::int64_t>(1'000 + below(100'000))};
        Entry entry{LimitKey(request_, KeyHash(1)), kBegan, UnixTime{}, Sharing::kShared};
        const UnixTime now = kBegan + Duration{static_cast<std::int64_t>(below(300'000))};
        entry.set_refreshed(now - Duration{static_cast<std::int64_t>(below(400)) - 20});
        const Count limit = 1 + below(10'000);
        const Ask ask{.cost = below(3), .limit = limit};
        const Count remaining = below(limit);
        const Instant at = instant_at(now, request_.duration);
        ASSERT_EQ(may_rely(entry, at, now, ask, remaining),
                  may_rely_after_all(entry, at, now, ask, remaining));
    }
}

TEST_F(TrustTest, ShortWindowsAreTrustedForAQuarterOfTheirLength) {
    EXPECT_TRUE(is_young_enough(Duration{2'500}, 10, 10, Duration{10'000}));
    EXPECT_FALSE(is_young_enough(Duration{2'501}, 10, 10, Duration{10'000}));
}

TEST_F(TrustTest, LargestNumbersDontOverflow) {
    EXPECT_TRUE(is_young_enough(Duration{4'999}, kMaxCount, kMaxCount, kMaxDuration));
    EXPECT_FALSE(is_young_enough(kMaxDuration, kMaxCount, kMaxCount, kMaxDuration));
}

TEST_F(TrustTest, WhoIsAloneAlwaysKnows) {
    const Entry alone{LimitKey(request_, KeyHash(1)), kBegan, UnixTime{}, Sharing::kAlone};
    EXPECT_TRUE(may_rely(alone, instant_at(kBegan, kMinute), kBegan, {1, 1}, 0));
}

}  // namespace
}  // namespace sluice
