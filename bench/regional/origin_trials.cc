// Trials that are bound by the origin: flushes after an outage, and cold reads.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <thread>

#include "measure/process.h"
#include "measure/stalls.h"
#include "regional/subject.h"
#include "regional/trials.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kOutstanding = 512;

// Waits until the origin is unavailable, or available.
void await(Limiter& limiter, bool unavailable, const Key& key) {
    const Clock::time_point end = Clock::now() + kFlushTimeout;
    while (limiter.stats().origin.unavailable != unavailable) {
        if (Clock::now() > end) give_up("the origin does not change");
        // Only a request finds out.
        if (unavailable) limiter.limit_async(request_for(key, 0), wall_time(), [](const auto&) {});
        std::this_thread::sleep_for(1ms);
    }
}

std::uint32_t at_share(const std::vector<std::uint32_t>& sorted, double share) {
    return sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * share)];
}

void say(const char* what) {
    std::cout << what << std::endl;
}

}  // namespace

int run(const FlushTrial& trial) {
    const std::vector<Key> keys = in_turn(trial.keys);
    Limiter limiter = make_limiter(trial.origin);
    // A key that was not read before would read its previous cell with the flush, which is cheaper
    // and would flatter the figure.
    limit_all_async(limiter, keys, kOutstanding, 0);

    say("attached");
    std::cin.get();
    await(limiter, true, keys.front());
    if (!decide_all(limiter, keys)) give_up("a request did not pass");
    if (limiter.stats().origin.flushed != 0) give_up("something was flushed too early");

    say("spent");
    await(limiter, false, keys.front());
    while (limiter.stats().origin.flushed == 0) {
        std::this_thread::sleep_for(100us);
    }
    const Clock::time_point begin = Clock::now();
    const double processor_before = processor_seconds(Whose::kProcess);
    limiter.close(kFlushTimeout);
    const double seconds = std::chrono::duration<double>(since(begin)).count();
    const double processor = processor_seconds(Whose::kProcess) - processor_before;
    const OriginStats origin = limiter.stats().origin;
    if (origin.outages != 1 || origin.flushed < trial.keys) give_up_disturbed();
    std::cout << "{\"rate\": " << static_cast<double>(origin.flushed) / seconds
              << ", \"processor_us\": " << processor / static_cast<double>(origin.flushed) * 1e6
              << ", \"flushed\": " << origin.flushed << "}" << std::endl;
    return 0;
}

int run(const ColdTrial& trial) {
    Limiter limiter = make_limiter(trial.origin);
    const std::vector<Key> keys = in_turn(trial.keys);
    const double processor_before = processor_seconds(Whose::kProcess);
    RequestTimes times = limit_all_async(limiter, keys, trial.outstanding, trial.cost);
    const double processor = processor_seconds(Whose::kProcess) - processor_before;
    const OriginStats origin = limiter.stats().origin;
    if (origin.spends != trial.keys || origin.fallbacks != 0) give_up_disturbed();
    std::ranges::sort(times.microseconds);
    std::printf("{\"rate\": %.0f, \"processor_us\": %.2f, \"p50\": %u, \"p99\": %u}\n",
                trial.keys / times.seconds,
                processor / trial.keys * 1e6,
                at_share(times.microseconds, 0.5),
                at_share(times.microseconds, 0.99));
    return 0;
}

}  // namespace sluice::bench
