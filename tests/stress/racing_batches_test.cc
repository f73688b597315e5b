// Batches are spent on all of their keys or on none, also while other batches and singles race
// them.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stress/effort.h"
#include "stress/ledger.h"
#include "stress/racing_threads.h"

namespace sluice::stress {
namespace {

constexpr std::chrono::milliseconds kDuration{1'000};
constexpr std::int64_t kStart = 1'700'000'000'000;
constexpr int kThreads = 4;
// A round is long enough for threads to meet.
constexpr int kRounds = 15;
constexpr int kCalls = scaled(6'000);

// The sum of admitted costs. All threads add to it; it is read after they were joined.
using AdmittedSum = std::atomic<std::int64_t>;

Limiter new_limiter() {
    return Limiter::create({.region = "test", .max_keys = 1'000}).value();
}

Request request_for(const char* identifier, std::int64_t cost, std::int64_t limit) {
    return {.name_space = "batch",
            .identifier = identifier,
            .limit = limit,
            .duration = kDuration,
            .cost = cost};
}

std::int64_t counted(Limiter& limiter, const char* identifier, std::int64_t now) {
    return kMaxNumber -
           limiter.limit(request_for(identifier, 0, kMaxNumber), at(now)).value().remaining;
}

// Every batch has the same cost for each key, in another order on each thread, so that all keys
// must end up with the same count. Only the scarcest of the limits ever denies.
TEST(RacingBatches, SpendTheSameOnEachOfTheirKeys) {
    constexpr std::array<const char*, 4> kKeys{"a", "b", "c", "d"};
    Limiter limiter = new_limiter();
    for (std::int64_t round = 0; round < kRounds; ++round) {
        const std::int64_t now = kStart + round * 2'000;
        AdmittedSum admitted{0};
        race(kThreads, [&](int thread) {
            std::vector<Request> requests;
            for (const char* key : kKeys) {
                requests.push_back(
                    request_for(key, 1 + thread % 2, key == kKeys[2] ? 2 * kCalls : 100 * kCalls));
            }
            std::rotate(requests.begin(), requests.begin() + thread, requests.end());
            for (int i = 0; i < kCalls; ++i) {
                const bool passed = limiter.limit_many(requests, at(now)).value().passed;
                admitted.fetch_add(passed ? requests[0].cost : 0, std::memory_order_relaxed);
            }
        });
        EXPECT_LE(admitted.load(), 2 * kCalls);
        for (const char* key : kKeys) {
            ASSERT_EQ(counted(limiter, key, now), admitted.load()) << key << " in round " << round;
        }
    }
}

// A batch that can't pass holds its costs for a moment, and may deny others meanwhile. Nothing of
// it stays.
TEST(RacingBatches, LeaveNothingBehindWhenTheyFail) {
    constexpr std::int64_t kLimit = kCalls;
    Limiter limiter = new_limiter();
    for (std::int64_t round = 0; round < kRounds; ++round) {
        const std::int64_t now = kStart + round * 2'000;
        AdmittedSum admitted{0};
        race(kThreads, [&](int thread) {
            const Request single = request_for("shared", 1, kLimit);
            const std::array hopeless{request_for("shared", 20, kLimit),
                                      request_for("shared", 5, kLimit),
                                      request_for("other", 3, kLimit),
                                      request_for("banned", 1, 0)};
            for (int i = 0; i < kCalls; ++i) {
                if (thread % 2 == 0) {
                    EXPECT_FALSE(limiter.limit_many(hopeless, at(now)).value().passed);
                } else {
                    admitted.fetch_add(limiter.limit(single, at(now)).value().passed ? 1 : 0,
                                       std::memory_order_relaxed);
                }
            }
        });
        ASSERT_EQ(counted(limiter, "shared", now), admitted.load()) << "in round " << round;
        ASSERT_EQ(counted(limiter, "other", now), 0);
        ASSERT_EQ(counted(limiter, "banned", now), 0);
        ASSERT_TRUE(limiter.limit(request_for("shared", kLimit - admitted.load(), kLimit), at(now))
                        .value()
                        .passed);
    }
}

// The previous window is full and its weight falls: what batches and singles take of the new one
// together never exceeds what has become free.
TEST(RacingBatches, NeverTakeMoreThanTheSlidingWindowHasFree) {
    constexpr std::int64_t kLimit = kCalls;
    Limiter limiter = new_limiter();
    for (std::int64_t round = 0; round < kRounds; ++round) {
        const std::int64_t boundary = kStart + round * 3'000;
        ASSERT_TRUE(
            limiter.limit(request_for("shared", kLimit, kLimit), at(boundary - 1)).value().passed);
        const std::int64_t elapsed = 100 + round * 50;
        AdmittedSum admitted{0};
        race(kThreads, [&](int thread) {
            const std::array pair{request_for("shared", 2, kLimit),
                                  request_for("shared", 1, kLimit)};
            for (int i = 0; i < kCalls; ++i) {
                const UnixTime now = at(boundary + elapsed * (i + 1) / kCalls);
                if (thread % 2 == 0) {
                    admitted.fetch_add(limiter.limit_many(pair, now).value().passed ? 3 : 0,
                                       std::memory_order_relaxed);
                } else {
                    admitted.fetch_add(limiter.limit(pair[1], now).value().passed ? 1 : 0,
                                       std::memory_order_relaxed);
                }
            }
        });
        ASSERT_LE(admitted.load(), kLimit * elapsed / 1'000) << "in round " << round;
        ASSERT_EQ(counted(limiter, "shared", boundary + elapsed),
                  admitted.load() + (kLimit * (1'000 - elapsed) + 999) / 1'000);
    }
}

}  // namespace
}  // namespace sluice::stress
