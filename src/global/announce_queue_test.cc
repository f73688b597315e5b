#include "global/announce_queue.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using Time = AnnounceQueue::Time;

constexpr Time kStart{std::chrono::hours(1)};

CellName cell(std::string identifier) {
    return {.workspace = "w",
            .name_space = "n",
            .identifier = std::move(identifier),
            .duration = Duration{60'000},
            .sequence = 7};
}

std::string text_of(const std::vector<RegionCount>& counts) {
    std::string text;
    for (const RegionCount& count : counts)
        text += count.cell.identifier + "=" + std::to_string(count.count) + " ";
    return text;
}

TEST(AnnounceQueue, IsDueTwentyMillisecondsAfterTheFirst) {
    AnnounceQueue queue({});
    EXPECT_EQ(queue.wake_at(), Time::max());
    queue.add(cell("a"), 1, kStart);
    queue.add(cell("b"), 2, kStart + milliseconds(15));
    EXPECT_EQ(queue.wake_at(), kStart + milliseconds(20));
    EXPECT_TRUE(queue.take(kStart + milliseconds(19)).empty());
    EXPECT_EQ(text_of(queue.take(kStart + milliseconds(20))), "a=1 b=2 ");
    EXPECT_EQ(queue.wake_at(), Time::max());
    EXPECT_TRUE(queue.take(kStart + milliseconds(100)).empty());
}

TEST(AnnounceQueue, GathersAnewAfterItWasTaken) {
    AnnounceQueue queue({});
    queue.add(cell("a"), 1, kStart);
    static_cast<void>(queue.take(kStart + milliseconds(30)));
    queue.add(cell("a"), 2, kStart + milliseconds(40));
    EXPECT_EQ(queue.wake_at(), kStart + milliseconds(60));
    EXPECT_EQ(text_of(queue.take(kStart + milliseconds(60))), "a=2 ");
}

TEST(AnnounceQueue, KeepsTheLargerCountOfACell) {
    AnnounceQueue queue({});
    queue.add(cell("a"), 5, kStart);
    queue.add(cell("a"), 9, kStart);
    queue.add(cell("a"), 7, kStart);
    EXPECT_EQ(text_of(queue.take(kStart + milliseconds(20))), "a=9 ");
    EXPECT_EQ(queue.dropped(), 0U);
}

TEST(AnnounceQueue, OverflowDropsTheOldest) {
    AnnounceQueue queue({.most_cells = 3});
    for (const char* name : {"a", "b", "c"})
        queue.add(cell(name), 1, kStart);
    queue.add(cell("a"), 2, kStart);  // now the newest
    queue.add(cell("b"), 1, kStart);  // nothing new
    queue.add(cell("d"), 1, kStart);
    EXPECT_EQ(queue.dropped(), 1U);
    EXPECT_EQ(text_of(queue.take(kStart + milliseconds(20))), "a=2 c=1 d=1 ");
    for (int i = 0; i < 100; ++i)
        queue.add(cell(std::to_string(1'000 + i)), 1, kStart);
    EXPECT_EQ(queue.dropped(), 98U);
    EXPECT_EQ(text_of(queue.take(kStart + milliseconds(20))), "1097=1 1098=1 1099=1 ");
}

TEST(AnnounceQueue, ReportsTheFirstOfABatch) {
    int wakes = 0;
    AnnounceQueue queue({.on_first = [&] { ++wakes; }});
    queue.add(cell("a"), 1, kStart);
    queue.add(cell("b"), 1, kStart);
    EXPECT_EQ(wakes, 1);
    static_cast<void>(queue.take(kStart + milliseconds(20)));
    queue.add(cell("a"), 2, kStart + milliseconds(21));
    EXPECT_EQ(wakes, 2);
}

}  // namespace
}  // namespace sluice
