#include "regional/cold_trial.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <semaphore>

#include "measure/process.h"
#include "measure/stalls.h"
#include "regional/subject.h"
#include "regional/trials.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::ptrdiff_t kMostOutstanding = 1 << 16;

std::uint32_t at_share(const std::vector<std::uint32_t>& sorted, double share) {
    return sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * share)];
}

}  // namespace

// The new one is begun by this thread, not where the old one ended: that is the limiter's own
// thread, whose requests are decided without asking.
Asked ask_for_all(Limiter& limiter,
                  const std::vector<Key>& keys,
                  std::uint32_t outstanding,
                  std::int64_t cost) {
    std::counting_semaphore<kMostOutstanding> free(outstanding);
    std::atomic<bool> has_passed{true};  // relaxed: the semaphore orders it
    Asked asked{.seconds = 0, .microseconds = std::vector<std::uint32_t>(keys.size())};
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < keys.size(); ++i) {
        free.acquire();
        const Clock::time_point asked_at = Clock::now();
        limiter.limit_async(
            request_for(keys[i], cost), wall_time(), [&, i, asked_at](const auto& decision) {
                asked.microseconds[i] = static_cast<std::uint32_t>(
                    std::chrono::duration_cast<std::chrono::microseconds>(since(asked_at)).count());
                if (!decision || !decision->passed)
                    has_passed.store(false, std::memory_order_relaxed);
                free.release();
            });
    }
    for (std::uint32_t i = 0; i < outstanding; ++i) {
        free.acquire();
    }
    asked.seconds = std::chrono::duration<double>(since(begin)).count();
    if (!has_passed.load(std::memory_order_relaxed)) give_up("a request did not pass");
    return asked;
}

int run(const ColdTrial& trial) {
    Limiter limiter = make_limiter(trial.origin);
    const std::vector<Key> keys = in_turn(trial.keys);
    const double processor_before = processor_seconds(Whose::kProcess);
    Asked asked = ask_for_all(limiter, keys, trial.outstanding, trial.cost);
    const double processor = processor_seconds(Whose::kProcess) - processor_before;
    const OriginStats origin = limiter.stats().origin;
    if (origin.spends != trial.keys || origin.fallbacks != 0) give_up_disturbed();
    std::ranges::sort(asked.microseconds);
    std::printf("{\"rate\": %.0f, \"processor_us\": %.2f, \"p50\": %u, \"p99\": %u}\n",
                trial.keys / asked.seconds,
                processor / trial.keys * 1e6,
                at_share(asked.microseconds, 0.5),
                at_share(asked.microseconds, 0.99));
    return 0;
}

}  // namespace sluice::bench
