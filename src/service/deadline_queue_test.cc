#include "service/deadline_queue.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr DeadlineQueue::Time kNow{milliseconds{1'000}};

TEST(DeadlineQueue, EachOperationEndsOnce) {
    DeadlineQueue waits;
    int ends = 0;
    const DeadlineQueue::Name wait = waits.add(kNow, [&] { ++ends; });
    waits.end(wait);
    waits.end(wait);
    waits.end_due(kNow);
    waits.end_all();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(waits.wake_at(), std::nullopt);
}

TEST(DeadlineQueue, OperationsEndInTheOrderOfTheirDeadlines) {
    DeadlineQueue waits;
    std::string ended;
    waits.add(kNow + milliseconds{2}, [&] { ended += "b"; });
    waits.add(kNow + milliseconds{1}, [&] { ended += "a"; });
    waits.add(kNow + milliseconds{3}, [&] { ended += "c"; });
    EXPECT_EQ(waits.wake_at(), kNow + milliseconds{1});
    waits.end_due(kNow + milliseconds{2});
    EXPECT_EQ(ended, "ab");
    EXPECT_EQ(waits.wake_at(), kNow + milliseconds{3});
}

TEST(DeadlineQueue, ACallbackMayAddAnotherOperation) {
    DeadlineQueue waits;
    int ends = 0;
    waits.add(kNow, [&] { waits.add(kNow, [&] { ++ends; }); });
    waits.end_all();
    EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace sluice
