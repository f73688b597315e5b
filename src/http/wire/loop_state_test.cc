#include "http/wire/loop_state.h"

#include <array>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

class BufferLedgerTest : public testing::Test {
  protected:
    BufferLedgerTest() {
        for (std::size_t i = 0; i < items.size(); ++i)
            places[i] = ledger.add(&items[i]);
    }

    std::array<int, 3> items{};
    BufferLedger<int> ledger;
    std::array<BufferLedger<int>::Place, 3> places;
};

TEST_F(BufferLedgerTest, HasNoLargestItemWhileNothingIsHeld) {
    EXPECT_EQ(ledger.total(), 0U);
    EXPECT_EQ(ledger.largest(), nullptr);
}

TEST_F(BufferLedgerTest, SumsTheBytesOfAllItems) {
    ledger.set(places[0], 100);
    ledger.set(places[1], 7);
    EXPECT_EQ(ledger.total(), 107U);
    ledger.set(places[0], 90);
    EXPECT_EQ(ledger.total(), 97U);
    ledger.remove(places[0]);
    EXPECT_EQ(ledger.total(), 7U);
    ledger.set(places[1], 0);
    EXPECT_EQ(ledger.total(), 0U);
    EXPECT_EQ(ledger.largest(), nullptr);
}

TEST_F(BufferLedgerTest, FindsTheLargestItemAfterEachChange) {
    ledger.set(places[0], 1);
    EXPECT_EQ(ledger.largest(), &items[0]);
    ledger.set(places[1], 5'000);
    ledger.set(places[2], 300);
    EXPECT_EQ(ledger.largest(), &items[1]);
    ledger.set(places[2], 1'000'000);
    EXPECT_EQ(ledger.largest(), &items[2]);
    ledger.remove(places[2]);
    EXPECT_EQ(ledger.largest(), &items[1]);
    ledger.set(places[1], 0);
    EXPECT_EQ(ledger.largest(), &items[0]);
}

TEST_F(BufferLedgerTest, PrefersTheOldestOfSeveralLargeItems) {
    ledger.set(places[1], 1'100);
    ledger.set(places[0], 2'000);
    EXPECT_EQ(ledger.largest(), &items[1]);
    ledger.set(places[1], 1'200);
    EXPECT_EQ(ledger.largest(), &items[1]) << "growing within the group keeps the place";
}

class TimeoutListTest : public testing::Test {
  protected:
    TimeoutListTest() {
        timeout_list.set_timeout(Phase::kIdle, 100ms);
        timeout_list.set_timeout(Phase::kHead, 10ms);
    }

    // Removes all expired items and returns them.
    std::vector<int> expired(std::chrono::milliseconds now) {
        std::vector<int> found;
        timeout_list.expire(now, [&](int item) {
            found.push_back(item);
            timeout_list.remove(places[static_cast<std::size_t>(item)]);
        });
        return found;
    }

    void add(Phase phase, std::chrono::milliseconds now) {
        places.push_back(timeout_list.add(static_cast<int>(places.size()), phase, now));
    }

    TimeoutList<int> timeout_list;
    std::vector<TimeoutList<int>::Place> places;
};

TEST_F(TimeoutListTest, FindsExpiredItems) {
    add(Phase::kIdle, 0ms);
    add(Phase::kHead, 0ms);
    add(Phase::kIdle, 50ms);
    EXPECT_EQ(expired(9ms), (std::vector<int>{}));
    EXPECT_EQ(expired(10ms), (std::vector<int>{1}));
    EXPECT_EQ(expired(149ms), (std::vector<int>{0}));
    EXPECT_EQ(timeout_list.size(), 1U);
    EXPECT_EQ(expired(150ms), (std::vector<int>{2}));
}

TEST_F(TimeoutListTest, RestartsTheTimeoutWithThePhase) {
    add(Phase::kIdle, 0ms);
    add(Phase::kIdle, 1ms);
    timeout_list.enter(places[0], Phase::kIdle, 60ms);
    EXPECT_EQ(expired(110ms), (std::vector<int>{1}));
    timeout_list.enter(places[0], Phase::kHead, 150ms);
    EXPECT_EQ(expired(159ms), (std::vector<int>{}));
    EXPECT_EQ(expired(160ms), (std::vector<int>{0}));
}

TEST_F(TimeoutListTest, NeverExpiresAPhaseWithoutATimeout) {
    add(Phase::kDeferred, 0ms);
    EXPECT_EQ(expired(1'000'000ms), (std::vector<int>{}));
}

TEST_F(TimeoutListTest, FindsTheOldestItemOfSomePhases) {
    EXPECT_EQ(timeout_list.oldest({Phase::kIdle, Phase::kNew}), nullptr);
    add(Phase::kHead, 0ms);
    add(Phase::kIdle, 1ms);
    add(Phase::kNew, 2ms);
    add(Phase::kIdle, 3ms);
    EXPECT_EQ(timeout_list.oldest({Phase::kIdle, Phase::kNew})->item, 1);
    timeout_list.enter(places[1], Phase::kIdle, 4ms);
    EXPECT_EQ(timeout_list.oldest({Phase::kIdle, Phase::kNew})->item, 2);
    timeout_list.remove(places[2]);
    EXPECT_EQ(timeout_list.oldest({Phase::kIdle, Phase::kNew})->item, 3);
    EXPECT_EQ(timeout_list.oldest({Phase::kHead})->item, 0);
}

TEST_F(TimeoutListTest, VisitsEachItemEvenIfItIsMovedOrRemoved) {
    for (int i = 0; i < 6; ++i)
        add(i % 2 == 0 ? Phase::kIdle : Phase::kHead, 0ms);
    std::vector<int> visited;
    timeout_list.for_each([&](int item) {
        visited.push_back(item);
        if (item % 3 == 0) timeout_list.remove(places[static_cast<std::size_t>(item)]);
        if (item == 5) timeout_list.enter(places[5], Phase::kIdle, 7ms);
    });
    EXPECT_EQ(visited, (std::vector<int>{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(timeout_list.size(), 4U);
}

}  // namespace
}  // namespace sluice::http
