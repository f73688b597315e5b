#include "http/wire/roster.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

class RosterTest : public testing::Test {
  protected:
    RosterTest() {
        roster.set_timeout(Phase::kIdle, 100ms);
        roster.set_timeout(Phase::kHead, 10ms);
    }

    // Removes whatever is overdue, and tells what it was.
    std::vector<int> expired(std::chrono::milliseconds now) {
        std::vector<int> found;
        roster.expire(now, [&](int item) {
            found.push_back(item);
            roster.remove(places[static_cast<std::size_t>(item)]);
        });
        return found;
    }

    void add(Phase phase, std::chrono::milliseconds now) {
        places.push_back(roster.add(static_cast<int>(places.size()), phase, now));
    }

    Roster<int> roster;
    std::vector<Roster<int>::Place> places;
};

TEST_F(RosterTest, FindsWhoeverWaitedTooLong) {
    add(Phase::kIdle, 0ms);
    add(Phase::kHead, 0ms);
    add(Phase::kIdle, 50ms);
    EXPECT_EQ(expired(9ms), (std::vector<int>{}));
    EXPECT_EQ(expired(10ms), (std::vector<int>{1}));
    EXPECT_EQ(expired(149ms), (std::vector<int>{0}));
    EXPECT_EQ(roster.size(), 1U);
    EXPECT_EQ(expired(150ms), (std::vector<int>{2}));
}

TEST_F(RosterTest, StartsTheTimeOverWithThePhase) {
    add(Phase::kIdle, 0ms);
    add(Phase::kIdle, 1ms);
    roster.enter(places[0], Phase::kIdle, 60ms);
    EXPECT_EQ(expired(110ms), (std::vector<int>{1}));
    roster.enter(places[0], Phase::kHead, 150ms);
    EXPECT_EQ(expired(159ms), (std::vector<int>{}));
    EXPECT_EQ(expired(160ms), (std::vector<int>{0}));
}

TEST_F(RosterTest, NeverEndsAPhaseWithoutATimeout) {
    add(Phase::kLater, 0ms);
    EXPECT_EQ(expired(1'000'000ms), (std::vector<int>{}));
}

TEST_F(RosterTest, VisitsEachEvenIfTheVisitMovesOrRemovesIt) {
    for (int i = 0; i < 6; ++i)
        add(i % 2 == 0 ? Phase::kIdle : Phase::kHead, 0ms);
    std::vector<int> visited;
    roster.for_each([&](int item) {
        visited.push_back(item);
        if (item % 3 == 0) roster.remove(places[static_cast<std::size_t>(item)]);
        if (item == 5) roster.enter(places[5], Phase::kIdle, 7ms);
    });
    EXPECT_EQ(visited, (std::vector<int>{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(roster.size(), 4U);
}

}  // namespace
}  // namespace sluice::http
