// The formula by table, and decisions around the boundary between two windows.
#include <cstdint>
#include <ostream>

#include <gtest/gtest.h>

#include "model/history.h"

namespace sluice::model {
namespace {

constexpr std::int64_t kBoundary = 1'700'000'000'000;

Result<Decision> limit(Limiter& limiter, const Ask& ask, std::int64_t now) {
    return limiter.limit(request_of(ask), UnixTime{std::chrono::milliseconds{now}});
}

struct Row {
    std::int64_t current;
    std::int64_t previous;
    int elapsed_percent;
    std::int64_t cost;
    std::int64_t limit;
    bool passes;
    std::int64_t remaining;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << "current " << row.current << ", previous " << row.previous << ", elapsed "
               << row.elapsed_percent << " %, cost " << row.cost << ", limit " << row.limit;
}

class Formula : public testing::TestWithParam<Row> {};

TEST_P(Formula, DecidesByTheUnroundedSum) {
    const Row& row = GetParam();
    Limiter limiter = fresh_limiter();
    const std::int64_t now = kBoundary + row.elapsed_percent * 10;
    ASSERT_TRUE(limit(limiter, {.limit = 1'000, .cost = row.previous}, kBoundary - 1)->passed);
    ASSERT_TRUE(limit(limiter, {.limit = 1'000, .cost = row.current}, now)->passed);
    const auto decision = limit(limiter, {.limit = row.limit, .cost = row.cost}, now);
    EXPECT_EQ(decision->passed, row.passes) << row;
    EXPECT_EQ(decision->remaining, row.remaining) << row;
}

INSTANTIATE_TEST_SUITE_P(Table,
                         Formula,
                         testing::Values(Row{0, 0, 0, 1, 10, true, 9},
                                         Row{9, 0, 0, 1, 10, true, 0},
                                         Row{10, 0, 0, 0, 10, true, 0},
                                         Row{10, 0, 0, 1, 10, false, 0},
                                         Row{5, 10, 50, 1, 10, false, 0},
                                         Row{5, 10, 99, 1, 10, true, 3},
                                         Row{0, 0, 0, 100, 10, false, 0},
                                         Row{0, 10, 0, 0, 10, true, 0},
                                         Row{0, 10, 0, 1, 10, false, 0},
                                         Row{0, 11, 0, 0, 10, false, 0},
                                         Row{0, 1, 99, 10, 10, false, 0},
                                         Row{0, 0, 0, 0, 0, false, 0}));

// A previous count that is rounded down would be 0 at once, and the second request would pass.
TEST(Boundary, LetsALimitOfOnePassOnceAroundIt) {
    for (const std::int64_t duration : {1'000, 1'001, 60'000}) {
        const Ask ask{.limit = 1, .duration = duration, .cost = 1};
        const std::int64_t boundary = kBoundary / duration * duration;
        Limiter limiter = fresh_limiter();
        EXPECT_TRUE(limit(limiter, ask, boundary - 1)->passed);
        for (const std::int64_t after :
             {std::int64_t{0}, std::int64_t{1}, duration / 2, duration - 1}) {
            const auto decision = limit(limiter, ask, boundary + after);
            EXPECT_FALSE(decision->passed) << after << " ms after the boundary";
            EXPECT_EQ(decision->retry_at, UnixTime{std::chrono::milliseconds{boundary + duration}});
        }
        EXPECT_TRUE(limit(limiter, ask, boundary + duration)->passed);
    }
}

TEST(Boundary, GivesTheNewWindowTheUnspentPartOfTheOldOne) {
    for (std::int64_t spent = 0; spent <= 10; ++spent) {
        Limiter limiter = fresh_limiter();
        ASSERT_TRUE(limit(limiter, {.limit = 10, .cost = spent}, kBoundary - 1)->passed);
        std::int64_t passed = 0;
        for (int i = 0; i < 20; ++i) {
            passed += limit(limiter, {.limit = 10, .cost = 1}, kBoundary)->passed ? 1 : 0;
        }
        EXPECT_EQ(passed, 10 - spent);
    }
}

TEST(Boundary, BelongsToTheWindowThatBeginsThere) {
    Limiter limiter = fresh_limiter();
    const Ask peek{.limit = 10, .cost = 0};
    EXPECT_EQ(limit(limiter, peek, kBoundary - 1)->reset_at.time_since_epoch().count(), kBoundary);
    EXPECT_EQ(limit(limiter, peek, kBoundary)->reset_at.time_since_epoch().count(),
              kBoundary + 1'000);
}

}  // namespace
}  // namespace sluice::model
