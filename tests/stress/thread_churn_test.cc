// Short-lived threads and limiters: neither leaves memory or counts behind in the other.
#include <sluice/limiter.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "stress/ledger.h"
#include "stress/racing_threads.h"
#include "stress/resident_memory.h"

namespace sluice::stress {
namespace {

constexpr std::chrono::milliseconds kDuration{60'000};
constexpr std::int64_t kStart = 1'700'000'040'000;
constexpr std::size_t kMaxKeys = 2'000;
constexpr std::int64_t kLimit = 50'000;

Request request_for(const std::string& identifier) {
    return {.name_space = "churn",
            .identifier = identifier,
            .limit = kLimit,
            .duration = kDuration,
            .cost = 1};
}

Limiter new_limiter() {
    return Limiter::create({.region = "test", .max_keys = kMaxKeys}).value();
}

std::int64_t counted(Limiter& limiter, const std::string& identifier) {
    Request peek = request_for(identifier);
    peek.cost = 0;
    return kLimit - limiter.limit(peek, at(kStart)).value().remaining;
}

// Each thread uses one key that all share, and some of its own.
TEST(ThreadChurn, LosesNoCountAndKeepsNoMemory) {
    constexpr int kGenerations = 300;
    constexpr int kThreads = 4;
    constexpr int kCalls = 25;
    Limiter limiter = new_limiter();
    std::int64_t resident_halfway = 0;
    for (int generation = 0; generation < kGenerations; ++generation) {
        if (generation == kGenerations / 2) resident_halfway = resident_bytes();
        race(kThreads, [&](int thread) {
            for (int call = 0; call < kCalls; ++call) {
                EXPECT_TRUE(limiter.limit(request_for("shared"), at(kStart)).value().passed);
                const int number = (generation * kThreads + thread) * kCalls + call;
                EXPECT_TRUE(
                    limiter.limit(request_for(std::to_string(number)), at(kStart)).value().passed);
            }
        });
    }
    EXPECT_EQ(counted(limiter, "shared"), kGenerations * kThreads * kCalls);
    EXPECT_LE(limiter.stats().keys_held, kMaxKeys);
    EXPECT_LE(resident_bytes() - resident_halfway, 16 << 20U);
}

TEST(ThreadChurn, LetsAThreadOutliveManyLimiters) {
    constexpr int kLimiters = 200;
    constexpr int kThreads = 3;
    std::optional<Limiter> limiter;
    std::barrier ready(kThreads + 1);
    std::barrier done(kThreads + 1);
    std::jthread owner([&] {
        for (int i = 0; i < kLimiters; ++i) {
            limiter.emplace(new_limiter());
            ready.arrive_and_wait();
            done.arrive_and_wait();
            EXPECT_EQ(counted(*limiter, "shared"), kThreads * 10);
            Limiter moved = *std::move(limiter);
            EXPECT_EQ(counted(moved, "shared"), kThreads * 10);
        }
    });
    race(kThreads, [&](int thread) {
        for (int i = 0; i < kLimiters; ++i) {
            ready.arrive_and_wait();
            for (int call = 0; call < 10; ++call) {
                EXPECT_TRUE(limiter->limit(request_for("shared"), at(kStart)).value().passed);
                EXPECT_TRUE(
                    limiter->limit(request_for(std::to_string(thread * 10 + call)), at(kStart))
                        .value()
                        .passed);
            }
            done.arrive_and_wait();
        }
    });
}

// A thread alternates between limiters whose keys look alike.
TEST(ThreadChurn, KeepsLimitersApart) {
    Limiter first = new_limiter();
    Limiter second = new_limiter();
    race(4, [&](int) {
        for (int call = 0; call < 1'000; ++call) {
            EXPECT_TRUE(first.limit(request_for("shared"), at(kStart)).value().passed);
            if (call % 4 == 0) {
                EXPECT_TRUE(second.limit(request_for("shared"), at(kStart)).value().passed);
            }
        }
    });
    EXPECT_EQ(counted(first, "shared"), 4'000);
    EXPECT_EQ(counted(second, "shared"), 1'000);
}

}  // namespace
}  // namespace sluice::stress
