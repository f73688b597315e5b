#include "regional/subject.h"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <semaphore>
#include <utility>

#include "measure/stalls.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxKeys = 2'000'000;
constexpr std::ptrdiff_t kMostOutstanding = 1 << 16;

}  // namespace

Limiter make_limiter(const std::string& origin) {
    auto limiter = Limiter::create({.region = kRegion,
                                    .max_keys = kMaxKeys,
                                    .origin = origin,
                                    .origin_timeout = kOriginTimeout});
    if (!limiter) give_up(limiter.error().message);
    const OriginStats stats = limiter->stats().origin;
    if (stats.attached && stats.unavailable) give_up_disturbed();
    return *std::move(limiter);
}

Request request_for(const Key& key, std::int64_t cost) {
    return {.workspace = kWorkspace,
            .name_space = kNamespace,
            .identifier = key.identifier(),
            .limit = std::int64_t{1} << 52,
            .duration = kWindow,
            .cost = cost};
}

bool decide_all(Limiter& limiter, std::span<const Key> keys) {
    bool passed = true;
    for (const Key& key : keys) {
        const Result<Decision> decision = limiter.limit(request_for(key));
        passed &= decision && decision->passed;
    }
    return passed;
}

// Starts requests on this thread, not in the callback: that runs on the limiter's own thread, whose
// requests are decided without the origin.
RequestTimes limit_all_async(Limiter& limiter,
                             const std::vector<Key>& keys,
                             std::uint32_t outstanding,
                             std::int64_t cost) {
    std::counting_semaphore<kMostOutstanding> free(outstanding);
    std::atomic<bool> has_passed{true};  // relaxed: the semaphore orders it
    RequestTimes times{.seconds = 0, .microseconds = std::vector<std::uint32_t>(keys.size())};
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        free.acquire();
        const Clock::time_point started = Clock::now();
        limiter.limit_async(
            request_for(keys[i], cost), wall_time(), [&, i, started](const auto& decision) {
                times.microseconds[i] = static_cast<std::uint32_t>(
                    std::chrono::duration_cast<std::chrono::microseconds>(since(started)).count());
                if (!decision || !decision->passed)
                    has_passed.store(false, std::memory_order_relaxed);
                free.release();
            });
    }
    for (std::uint32_t i = 0; i < outstanding; ++i) {
        free.acquire();
    }
    times.seconds = std::chrono::duration<double>(since(begin)).count();
    if (!has_passed.load(std::memory_order_relaxed)) give_up("a request did not pass");
    return times;
}

UnixTime wall_time() {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

void give_up(const std::string& why) {
    std::cerr << "regional_bench: " << why << '\n';
    std::exit(1);
}

void give_up_disturbed() {
    std::cerr << "regional_bench: the origin was unavailable\n";
    std::exit(kDisturbed);
}

}  // namespace sluice::bench
