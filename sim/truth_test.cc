#include "sim/truth.h"

#include <gtest/gtest.h>

#include "sim/bounds.h"

namespace sluice::sim {
namespace {

TEST(TrailingWindow, HoldsWhatIsYoungerThanItsDuration) {
    TrailingWindow window;
    window.add(1'000, 5, 100);
    window.add(1'050, 3, 100);
    EXPECT_EQ(window.sum_at(1'050, 100), 8U);
    EXPECT_EQ(window.sum_at(1'099, 100), 8U);
    EXPECT_EQ(window.sum_at(1'100, 100), 3U);
    EXPECT_EQ(window.sum_at(1'150, 100), 0U);
}

TEST(Truth, KeepsRegionsApartAndCountsInOldCells) {
    const Load load;
    Truth truth(load, 2);
    const KeyIndex key = truth.add_key("k0", 0);
    truth.admit(key, 10, 0, 3, 0);
    truth.admit(key, 10, 1, 4, 0);
    EXPECT_EQ(truth.total(key, 10), 7U);
    EXPECT_EQ(truth.of_region(key, 10, 1), 4U);
    truth.admit(key, 14, 1, 1, 0);
    truth.admit(key, 10, 0, 5, 0);
    EXPECT_EQ(truth.total(key, 10), 12U) << "a cell whose place was taken";
    EXPECT_EQ(truth.of_region(key, 10, 0), 8U);
    EXPECT_EQ(truth.of_region(key, 14, 0), 0U);
    truth.admit(key, 9, 1, 2, 0);
    truth.admit(key, 13, 1, 1, 0);
    truth.admit(key, 9, 0, 3, 0);
    EXPECT_EQ(truth.total(key, 9), 5U);
    EXPECT_EQ(truth.total(key, 5), 0U);
}

TEST(Truth, CountsWhatAnOriginGrantedAsReserved) {
    const Load load;
    Truth truth(load, 2);
    const KeyIndex key = truth.add_key("k0", 0);
    truth.admit(key, 10, 1, 4, 0);
    truth.change_credit(key, 10, 0, 0, 3);
    truth.change_credit(key, 10, 1, 0, 2);
    EXPECT_EQ(truth.reserved(key, 10), 9U);
    EXPECT_EQ(truth.reserved(key, 10, 1), 6U);
    truth.change_credit(key, 10, 1, 2, 0);
    EXPECT_EQ(truth.reserved(key, 10, 1), 4U) << "it was used";
    EXPECT_EQ(truth.reserved(key, 11), 0U);
    EXPECT_EQ(truth.total(key, 10), 4U);
}

TEST(Truth, ParsesTheKeyFromItsName) {
    EXPECT_EQ(key_of("k17"), 17U);
    EXPECT_EQ(key_of("k17-xxx"), 17U);
}

TEST(Naive, ComparesTheUnroundedSum) {
    NaiveInput input{.current = 0,
                     .previous = 1,
                     .elapsed_ms = 999,
                     .duration_ms = 1'000,
                     .cost = 1,
                     .limit = 1};
    EXPECT_FALSE(naive_pass(input));
    input.previous = 0;
    EXPECT_TRUE(naive_pass(input));
    input.limit = 0;
    input.cost = 0;
    EXPECT_FALSE(naive_pass(input));
}

}  // namespace
}  // namespace sluice::sim
