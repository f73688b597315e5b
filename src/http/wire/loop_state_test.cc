#include "http/wire/loop_state.h"

#include <array>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

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

}  // namespace
}  // namespace sluice::http
