// Every admission is counted exactly once, while threads race each other and the
// clock.
#include <sluice/limiter.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
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
constexpr std::array<const char*, 3> kIdentifiers{"alice", "bob", "carol"};

Limiter new_limiter() {
    return Limiter::create({.region = "test", .max_keys = 1'000}).value();
}

Request request_for(const char* identifier, std::int64_t cost, std::int64_t limit) {
    return {.name_space = "stress",
            .identifier = identifier,
            .limit = limit,
            .duration = kDuration,
            .cost = cost};
}

// How the threads' clock behaves: it moves by 1 ms once in `calls_per_ms` readings, and shows each
// reader a time that is up to `back` behind or `ahead` of it.
struct Pace {
    std::uint64_t calls_per_ms;
    std::int64_t back;
    std::int64_t ahead;
};

class JitteryClock {
  public:
    JitteryClock(std::int64_t start, Pace pace) : pace_(pace), now_(start), latest_(start) {}

    std::int64_t read(std::mt19937_64& random) {
        const std::int64_t step = random() % pace_.calls_per_ms == 0 ? 1 : 0;
        const std::int64_t now = now_.fetch_add(step, std::memory_order_relaxed);
        const auto spread = static_cast<std::uint64_t>(pace_.back + pace_.ahead + 1);
        const std::int64_t shown = now - pace_.back + static_cast<std::int64_t>(random() % spread);
        std::int64_t latest = latest_.load(std::memory_order_relaxed);
        // Ends: every failure means that another thread has raised the number.
        while (latest < shown &&
               !latest_.compare_exchange_weak(latest, shown, std::memory_order_relaxed)) {
        }
        return shown;
    }

    std::int64_t latest() const { return latest_.load(std::memory_order_relaxed); }

  private:
    const Pace pace_;
    // Written by all threads; read after they were joined. Nothing else is published through
    // either.
    std::atomic<std::int64_t> now_;
    std::atomic<std::int64_t> latest_;
};

// One thread's work: singles, peeks and batches, a good part of which can't pass.
class Caller {
  public:
    Caller(Limiter& limiter, JitteryClock& clock, std::int64_t limit, std::uint64_t seed)
        : limiter_(limiter), clock_(clock), limit_(limit), random_(seed), ledger_(kDuration) {}

    void call() {
        if (random_() % 3 == 0) {
            call_batch();
        } else {
            call_single();
        }
    }

    const Ledger& ledger() const { return ledger_; }
    int passed() const { return passed_; }
    int failed() const { return failed_; }

  private:
    Request random_request() {
        const std::int64_t limit = random_() % 4 == 0 ? limit_ / 2 : limit_;
        return request_for(kIdentifiers.at(random_() % kIdentifiers.size()),
                           static_cast<std::int64_t>(random_() % 4),
                           limit);
    }

    void call_single() {
        const Request request = random_request();
        const auto decision = limiter_.limit(request, at(clock_.read(random_))).value();
        if (decision.passed) ledger_.note(request, decision);
        ++(decision.passed ? passed_ : failed_);
    }

    void call_batch() {
        std::vector<Request> requests;
        for (std::uint64_t i = 0; i <= random_() % 5; ++i) {
            requests.push_back(random_request());
        }
        if (random_() % 4 == 0) requests.push_back(request_for("banned", 1, 0));
        const auto batch = limiter_.limit_many(requests, at(clock_.read(random_))).value();
        if (batch.passed) ledger_.note(requests, batch);
        ++(batch.passed ? passed_ : failed_);
    }

    Limiter& limiter_;
    JitteryClock& clock_;
    const std::int64_t limit_;
    std::mt19937_64 random_;
    Ledger ledger_;
    int passed_ = 0;
    int failed_ = 0;
};

struct Plan {
    Pace pace;
    std::int64_t limit;
    int rounds;
    int calls;  // of each thread in each round
};

// Lets threads race in rounds. After each, all cells that are still held must match the
// ledger.
void expect_conservation(const Plan& plan) {
    Limiter limiter = new_limiter();
    JitteryClock clock(kStart, plan.pace);
    Ledger total(kDuration);
    int passed = 0;
    int failed = 0;
    for (int round = 0; round < plan.rounds; ++round) {
        std::vector<Caller> callers;
        for (std::uint64_t i = 0; i < kThreads; ++i) {
            callers.emplace_back(
                limiter, clock, plan.limit, static_cast<std::uint64_t>(round) * kThreads + i);
        }
        race(kThreads, [&](int i) {
            for (int call = 0; call < plan.calls; ++call) {
                callers[static_cast<std::size_t>(i)].call();
            }
        });
        for (const Caller& caller : callers) {
            total.add(caller.ledger());
            passed += caller.passed();
            failed += caller.failed();
        }
        for (const char* identifier : kIdentifiers) {
            ASSERT_EQ(total.first_mismatch(limiter, request_for(identifier, 0, 1), clock.latest()),
                      "")
                << "after round " << round;
        }
        ASSERT_LE(total.largest(), plan.limit);
    }
    EXPECT_GT(passed, plan.rounds);
    EXPECT_GT(failed, plan.rounds);
}

// A round is long enough for threads to meet, and the clock so slow that a round takes about a
// window.
constexpr int kRounds = 15;
constexpr int kCalls = scaled(8'000);
constexpr std::uint64_t kCallsPerMs = kThreads * kCalls / 1'000;

TEST(Conservation, HoldsWhereAllClocksAgree) {
    expect_conservation({.pace = {.calls_per_ms = kCallsPerMs, .back = 0, .ahead = 0},
                         .limit = kCalls,
                         .rounds = kRounds,
                         .calls = kCalls});
}

TEST(Conservation, HoldsWhileThreadsCrossABoundary) {
    expect_conservation({.pace = {.calls_per_ms = kCallsPerMs, .back = 900, .ahead = 100},
                         .limit = kCalls / 2,
                         .rounds = kRounds,
                         .calls = kCalls});
}

// Some threads work where the others' cells are already too old to be held.
// Two windows at most: a time from further back starts a key over (two_clocks_test.cc).
TEST(Conservation, HoldsWhileClocksAreWindowsApart) {
    expect_conservation({.pace = {.calls_per_ms = kCallsPerMs, .back = 1'000, .ahead = 1'000},
                         .limit = kCalls / 2,
                         .rounds = kRounds,
                         .calls = kCalls});
}

// Single requests of cost 1 leave no gap: a denial shows that the limit was spent to the
// last unit.
TEST(Conservation, SpendsTheLimitToTheLastUnit) {
    constexpr std::int64_t kLimit = scaled(20'000) + 7;
    Limiter limiter = new_limiter();
    Ledger total(kDuration);
    for (std::int64_t round = 0; round < 20; ++round) {
        const std::int64_t now = kStart + round * 1'000 + round * 37 % 1'000;
        const std::int64_t previous = total.spent("alice", now / 1'000 - 1);
        const std::int64_t weighted = (previous * (1'000 - now % 1'000) + 999) / 1'000;
        std::vector<Ledger> ledgers(kThreads, Ledger(kDuration));
        race(kThreads, [&](int i) {
            const Request request = request_for("alice", 1, kLimit);
            for (auto decision = limiter.limit(request, at(now)); decision->passed;
                 decision = limiter.limit(request, at(now))) {
                ledgers[static_cast<std::size_t>(i)].note(request, *decision);
            }
        });
        for (const Ledger& ledger : ledgers) {
            total.add(ledger);
        }
        ASSERT_EQ(total.spent("alice", now / 1'000), kLimit - weighted) << "in round " << round;
    }
}

}  // namespace
}  // namespace sluice::stress
