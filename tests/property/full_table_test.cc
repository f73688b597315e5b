// Invariants that hold while keys are evicted.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "global/memory_store.h"
#include "service/test_options.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kWindow = 1'000;
constexpr std::int64_t kStart = 1'700'000'000'000;

UnixTime at(std::int64_t time) {
    return UnixTime{milliseconds{time}};
}

Limiter limiter_for(std::size_t max_keys) {
    return Limiter::create({.region = "test", .max_keys = max_keys}).value();
}

Request request_for(std::string_view identifier, std::int64_t cost, std::int64_t limit) {
    return {.name_space = "n",
            .identifier = identifier,
            .limit = limit,
            .duration = milliseconds{kWindow},
            .cost = cost};
}

TEST(FullTable, HoldsAndCountsNoMoreThanItsCap) {
    for (std::size_t cap = 1; cap <= 9; ++cap) {
        Limiter limiter = limiter_for(cap);
        for (std::uint64_t key = 1; key <= 50; ++key) {
            EXPECT_TRUE(limiter.limit(request_for(std::to_string(key), 1, 1), at(kStart))->passed);
            const Stats stats = limiter.stats();
            EXPECT_EQ(stats.keys_held, std::min<std::uint64_t>(key, cap));
            EXPECT_EQ(stats.keys_created, key);
            EXPECT_EQ(stats.keys_evicted, key - stats.keys_held);
        }
    }
}

// Even where the keys of a batch displace each other, the batch itself spends no more than a limit
// allows.
TEST(FullTable, StillCountsDuplicatesWithinABatch) {
    for (std::size_t cap = 1; cap <= 9; ++cap) {
        Limiter limiter = limiter_for(cap);
        std::vector<std::string> others;
        for (int i = 0; i < 30; ++i) {
            others.push_back("other " + std::to_string(i));
        }
        std::vector<Request> requests{request_for("twice", 1, 1)};
        for (const std::string& other : others) {
            requests.push_back(request_for(other, 1, 10));
        }
        requests.push_back(request_for("twice", 1, 1));
        const auto batch = limiter.limit_many(requests, at(kStart)).value();
        EXPECT_FALSE(batch.passed) << "with a cap of " << cap;
        EXPECT_TRUE(batch.decisions.front().passed);
        EXPECT_FALSE(batch.decisions.back().passed);
        EXPECT_LE(limiter.stats().keys_held, cap);
    }
}

TEST(FullTable, KeepsAllKeysOfABatchThatFit) {
    Limiter limiter = limiter_for(10);
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(limiter.limit(request_for("filler " + std::to_string(i), 1, 1'000), at(kStart))
                        ->passed);
    }
    const std::array batch{
        request_for("a", 9, 10), request_for("b", 9, 10), request_for("c", 9, 10)};
    EXPECT_TRUE(limiter.limit_many(batch, at(kStart))->passed);
    for (const Request& request : batch) {
        EXPECT_EQ(limiter.limit(request_for(request.identifier, 0, 10), at(kStart))->remaining, 1)
            << request.identifier;
    }
}

// A new key may take the place of one that the batch has looked up and not come to yet. What it
// spends there must not be spent in an entry that is gone.
TEST(FullTable, CountsWhatABatchSpendsInAKeyThatItDisplaced) {
    Limiter limiter = limiter_for(2);
    ASSERT_TRUE(limiter.limit(request_for("close", 9, 10), at(kStart))->passed);
    ASSERT_TRUE(limiter.limit(request_for("held", 1, 1'000), at(kStart))->passed);
    const std::array batch{request_for("new", 1, 10), request_for("held", 10, 10)};
    ASSERT_TRUE(limiter.limit_many(batch, at(kStart))->passed) << "it was not displaced";
    EXPECT_EQ(limiter.limit(request_for("held", 0, 10), at(kStart))->remaining, 0);
    EXPECT_EQ(limiter.limit(request_for("new", 0, 10), at(kStart))->remaining, 9);
}

// Counts of other regions are kept beside the table, and enter it with the first request.
TEST(FullTable, ImportsDisplaceNoKey) {
    constexpr int kCap = 100;
    constexpr int kElsewhere = 2'000;
    Options options{.region = "test", .max_keys = kCap};
    options.global = "memory:full_table";
    Limiter limiter = *create_limiter(std::move(options), {.global_interval = milliseconds{10}});
    const auto key = [](int i) { return "working " + std::to_string(i); };
    for (int i = 0; i < kCap; ++i)  // too little to be published
        ASSERT_TRUE(limiter.limit(request_for(key(i), 1, 1'000), at(kStart))->passed);

    std::vector<RegionCount> rows;
    for (int i = 0; i < kElsewhere; ++i)
        rows.push_back({.cell = {.workspace = "default",
                                 .name_space = "n",
                                 .identifier = "elsewhere " + std::to_string(i),
                                 .duration = Duration{kWindow},
                                 .sequence = kStart / kWindow},
                        .count = 10});
    std::ranges::sort(rows, {}, &RegionCount::cell);
    const auto published =
        MemoryWorld::named("full_table")->join("other")->publish(rows, [](const RegionRow&) {});
    ASSERT_TRUE(std::holds_alternative<PublishEnd>(published));
    for (int i = 0; i < 1'000 && limiter.stats().global.cells_held < kElsewhere; ++i)
        std::this_thread::sleep_for(milliseconds{10});
    ASSERT_EQ(limiter.stats().global.cells_held, kElsewhere);

    EXPECT_EQ(limiter.stats().keys_held, kCap);
    EXPECT_EQ(limiter.stats().keys_created, kCap);
    EXPECT_EQ(limiter.stats().keys_evicted, 0U);
    for (int i = 0; i < kCap; ++i) {
        const auto peek = limiter.limit(request_for(key(i), 0, 1'000), at(kStart)).value();
        ASSERT_EQ(peek.remaining, 999) << key(i);
    }
    for (const int i : {0, 7, kElsewhere - 1}) {
        const std::string imported = "elsewhere " + std::to_string(i);
        EXPECT_FALSE(limiter.limit(request_for(imported, 1, 10), at(kStart))->passed) << imported;
        EXPECT_EQ(limiter.limit(request_for(imported, 1, 12), at(kStart))->remaining, 1);
    }
}

// A thousand idle keys are swept away as soon as their counts have ceased to matter. When the clock
// then steps back by less than two windows, to a time when they did matter, that time must not be
// decided on empty cells.
TEST(ExpiredKeys, AreNotDecidedAgainWhereTheirCountsMattered) {
    constexpr int kIdle = 1'000;
    constexpr std::int64_t kSwept = kStart + 3 * kWindow;
    constexpr std::int64_t kSteppedBack = kSwept - 2 * kWindow + 1;
    Limiter limiter = limiter_for(1'000'000);
    for (int i = 0; i < kIdle; ++i) {
        ASSERT_TRUE(
            limiter.limit(request_for("idle " + std::to_string(i), 10, 10), at(kStart))->passed);
    }
    ASSERT_FALSE(limiter.limit(request_for("idle 0", 1, 10), at(kSteppedBack))->passed);
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_TRUE(
            limiter.limit(request_for("busy " + std::to_string(i), 1, 10), at(kSwept))->passed);
    }
    // The first one was used a window later.
    ASSERT_EQ(limiter.stats().keys_expired, static_cast<std::uint64_t>(kIdle - 1));
    EXPECT_EQ(limiter.stats().keys_evicted, 0U);
    for (int i = 1; i < kIdle; ++i) {
        const auto decision =
            limiter.limit(request_for("idle " + std::to_string(i), 1, 10), at(kSteppedBack))
                .value();
        ASSERT_GE(decision.reset_at, at(kSwept)) << "idle " << i;
        ASSERT_TRUE(decision.passed);
    }
}

// A clock that was further ahead is taken for a wrong one: new keys are not held back by it.
TEST(ExpiredKeys, HoldNothingBackAfterALargeJumpOfTheClock) {
    Limiter limiter = limiter_for(1'000'000);
    for (int i = 0; i < 2'000; ++i) {
        ASSERT_TRUE(
            limiter.limit(request_for("idle " + std::to_string(i), 1, 10), at(kStart))->passed);
    }
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_TRUE(
            limiter
                .limit(request_for("busy " + std::to_string(i), 1, 10), at(kStart + 10 * kWindow))
                ->passed);
    }
    ASSERT_EQ(limiter.stats().keys_expired, 2'000U);
    const auto decision = limiter.limit(request_for("new", 1, 10), at(kStart)).value();
    EXPECT_TRUE(decision.passed);
    EXPECT_EQ(decision.reset_at, at(kStart + kWindow));
}

}  // namespace
}  // namespace sluice
