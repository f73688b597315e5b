#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "global/policy.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kInterval{10'000};
const TickSchedule::Time kStart{seconds{1'000}};

TEST(TickScheduleTest, TheFirstTickComesAtARandomPhase) {
    std::set<TickSchedule::Time> firsts;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const TickSchedule schedule(kInterval, kStart, seed);
        EXPECT_GE(schedule.next(), kStart);
        EXPECT_LE(schedule.next(), kStart + kInterval * 12 / 10);
        firsts.insert(schedule.next());
    }
    EXPECT_GT(firsts.size(), 90U);
    EXPECT_LT(*firsts.begin(), kStart + kInterval / 5);
    EXPECT_GT(*firsts.rbegin(), kStart + kInterval * 4 / 5);
}

TEST(TickScheduleTest, JitterIsDrawnAnewAndDoesNotAddUp) {
    TickSchedule schedule(kInterval, kStart, 7);
    std::set<milliseconds> gaps;
    const TickSchedule::Time first = schedule.next();
    TickSchedule::Time last = first;
    for (int i = 1; i <= 1'000; ++i) {
        schedule.finish(last);
        const auto gap = std::chrono::duration_cast<milliseconds>(schedule.next() - last);
        EXPECT_GE(gap, kInterval * 8 / 10);
        EXPECT_LE(gap, kInterval * 12 / 10);
        gaps.insert(gap);
        last = schedule.next();
        EXPECT_LE(std::chrono::abs(last - first - i * kInterval), kInterval / 5);
    }
    EXPECT_GT(gaps.size(), 500U);
}

TEST(TickScheduleTest, SlowWorkLeavesOutTicksAndDoesNotShiftThoseToCome) {
    TickSchedule schedule(kInterval, kStart, 3);
    const TickSchedule::Time first = schedule.next();
    schedule.finish(first + seconds{35});
    EXPECT_GT(schedule.next(), first + seconds{35});
    EXPECT_LE(schedule.next(), first + seconds{47});
    const auto from_target = (schedule.next() - first) % kInterval;
    EXPECT_TRUE(from_target <= kInterval / 5 || from_target >= kInterval * 4 / 5);
}

TEST(TickScheduleTest, ItIsDueFromItsTimeOn) {
    const TickSchedule schedule(kInterval, kStart, 1);
    EXPECT_FALSE(schedule.is_due(schedule.next() - milliseconds{1}));
    EXPECT_TRUE(schedule.is_due(schedule.next()));
}

}  // namespace
}  // namespace sluice
