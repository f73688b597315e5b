// Threads contend for the same unit at the same moment, again and again: exactly one of them gets
// it.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stress/effort.h"
#include "stress/ledger.h"
#include "stress/racing_threads.h"

namespace sluice::stress {
namespace {

constexpr int kThreads = 4;
constexpr std::chrono::milliseconds kDuration{1'000};
constexpr std::int64_t kStart = 1'700'000'000'000;

// The results of each thread.
using ResultsByThread = std::array<std::vector<std::int64_t>, kThreads>;

std::vector<std::int64_t> sorted(const ResultsByThread& results) {
    std::vector<std::int64_t> all;
    for (const auto& own : results) {
        all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    return all;
}

Limiter new_limiter() {
    return Limiter::create({.region = "test", .max_keys = 1'000'000}).value();
}

Request request_for(std::string_view identifier, std::int64_t limit) {
    return {.name_space = "contention",
            .identifier = identifier,
            .limit = limit,
            .duration = kDuration,
            .cost = 1};
}

// While all pass and spend 1, each caller gets a different remainder, and
// none is left out.
TEST(Contention, GivesEachCallerADifferentRemainder) {
    constexpr std::int64_t kLimit = 10'000'000;
    constexpr int kCalls = scaled(400'000);
    Limiter limiter = new_limiter();
    ResultsByThread results;
    race(kThreads, [&](int thread) {
        auto& own = results.at(static_cast<std::size_t>(thread));
        const Request request = request_for("hot", kLimit);
        const std::array three{request, request, request};
        for (int call = 0; call < kCalls; ++call) {
            if (call % 8 != 0) {
                own.push_back(limiter.limit(request, at(kStart)).value().remaining);
                continue;
            }
            const BatchDecision batch = limiter.limit_many(three, at(kStart)).value();
            for (const Decision& decision : batch.decisions) {
                own.push_back(decision.remaining);
            }
        }
    });
    const auto all = sorted(results);
    ASSERT_EQ(all.size(), kThreads * kCalls * 10 / 8);
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], kLimit - static_cast<std::int64_t>(all.size() - i))
            << "given twice, or never";
    }
}

// All threads send a request in a new window, and the first to finish leads them
// on to another. The windows between stay empty, so that each allows for exactly one pass. No
// thread is left more than two windows behind: its time would be taken for that of a clock that has
// stepped back.
TEST(Contention, LetsALimitOfOnePassOnceInEachWindowThatThreadsRaceToOpen) {
    constexpr std::int64_t kWindows = scaled(60'000);
    Limiter limiter = new_limiter();
    std::atomic<std::int64_t> window{0};  // raised by all threads; relaxed: publishes nothing
    // The last window that each thread has asked in. Written by it, read by all, with release and
    // acquire: its request is over.
    std::array<std::atomic<std::int64_t>, kThreads> asked{};
    const auto all_asked_in = [&](std::int64_t least) {
        return std::ranges::all_of(asked, [&](const std::atomic<std::int64_t>& one) {
            return one.load(std::memory_order_acquire) >= least;
        });
    };
    ResultsByThread results;
    race(kThreads, [&](int thread) {
        auto& own = results.at(static_cast<std::size_t>(thread));
        const Request request = request_for("hot", 1);
        std::int64_t mine = 0;
        while ((mine = window.load(std::memory_order_relaxed)) < kWindows) {
            const Decision decision =
                limiter.limit(request, at(kStart + 2 * mine * kDuration.count())).value();
            if (decision.passed) own.push_back(decision.reset_at.time_since_epoch() / kDuration);
            asked.at(static_cast<std::size_t>(thread)).store(mine, std::memory_order_release);
            while (!all_asked_in(mine - 1))
                std::this_thread::yield();
            window.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed);
        }
        asked.at(static_cast<std::size_t>(thread)).store(kWindows, std::memory_order_release);
    });
    const auto all = sorted(results);
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "a window was spent twice";
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end(), [](auto a, auto b) { return b == a + 1; }),
              all.end())
        << "a window was spent although the one before it was";
    EXPECT_EQ(all.size(), kWindows);
}

// The same with new keys, while the table grows.
TEST(Contention, LetsALimitOfOnePassOnceForEachKeyThatThreadsRaceToMake) {
    constexpr std::int64_t kKeys = scaled(100'000);
    Limiter limiter = new_limiter();
    std::atomic<std::int64_t> key{0};  // raised by all threads; relaxed: publishes nothing
    ResultsByThread results;
    race(kThreads, [&](int thread) {
        auto& own = results.at(static_cast<std::size_t>(thread));
        std::int64_t mine = 0;
        while ((mine = key.load(std::memory_order_relaxed)) < kKeys) {
            const std::string identifier = std::to_string(mine);
            if (limiter.limit(request_for(identifier, 1), at(kStart)).value().passed)
                own.push_back(mine);
            // A key from long ago is where it was left, whatever has grown since.
            const std::string old = std::to_string(mine / 2);
            if (mine > 100 && limiter.limit(request_for(old, 1), at(kStart)).value().passed)
                own.push_back(mine / 2);
            key.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed);
        }
    });
    const auto all = sorted(results);
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "a key was spent twice";
    EXPECT_EQ(all.size(), kKeys);
    EXPECT_EQ(limiter.stats().keys_created, kKeys);
}

// The table is so small that most entries are displaced while another thread is about to spend in
// them. Whatever happens to the memory of an entry, no key ever finds in it what was spent for
// another one.
TEST(Contention, LetsEachNewKeyPassWhileEvictionsRace) {
    constexpr int kKeys = scaled(40'000);
    constexpr std::size_t kMaxKeys = 4;
    Limiter limiter = Limiter::create({.region = "test", .max_keys = kMaxKeys}).value();
    race(kThreads, [&](int thread) {
        for (int key = 0; key < kKeys; ++key) {
            const std::string identifier = std::to_string(thread) + "/" + std::to_string(key);
            const Decision decision = limiter.limit(request_for(identifier, 1), at(kStart)).value();
            ASSERT_TRUE(decision.passed) << identifier;
            ASSERT_LE(limiter.stats().keys_held, kMaxKeys);
        }
    });
}

}  // namespace
}  // namespace sluice::stress
