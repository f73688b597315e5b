// Threads whose clocks are an hour apart use the same keys: no key is replaced again and again.
#include <sluice/limiter.h>

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

constexpr int kThreads = 4;
constexpr std::int64_t kLimit = 10;
constexpr std::int64_t kStart = 1'700'000'000'000;
constexpr std::int64_t kHour = 3'600'000;

// Each clock has a limit in its window. A key that began far ahead starts over once, where a
// request of each thread may be decided in the entry that is left.
TEST(TwoClocks, PassAtMostALimitEachAndOneForAStep) {
    const int keys = scaled(2'000);
    for (const std::int64_t ahead : {kHour, 3 * kHour}) {  // less and more than 4,000 windows
        Limiter limiter = Limiter::create({.region = "test", .max_keys = 1'000'000}).value();
        std::vector<std::atomic<std::int64_t>> passed(static_cast<std::size_t>(keys));
        race(kThreads, [&](int thread) {
            for (std::size_t key = 0; key < passed.size(); ++key) {
                const std::string identifier = std::to_string(key);
                const Request request{.name_space = "clocks",
                                      .identifier = identifier,
                                      .limit = kLimit,
                                      .duration = std::chrono::milliseconds{1'000}};
                const std::vector<Request> batch(2, request);
                const UnixTime now = at(kStart + (thread % 2 == 0 ? 0 : ahead));
                for (int call = 0; call < 40; ++call) {
                    const bool is_batch = call % 4 == 0;
                    const bool passes = is_batch ? limiter.limit_many(batch, now)->passed
                                                 : limiter.limit(request, now)->passed;
                    if (passes) passed[key] += is_batch ? 2 : 1;
                }
            }
        });
        for (std::size_t key = 0; key < passed.size(); ++key)
            ASSERT_LE(passed[key], 3 * kLimit + 2 * kThreads) << key;
        EXPECT_LE(limiter.stats().keys_started_over, passed.size());
    }
}

}  // namespace
}  // namespace sluice::stress
