#include <iostream>
#include <thread>

#include "measure/process.h"
#include "measure/stalls.h"
#include "regional/cold_trial.h"
#include "regional/subject.h"
#include "regional/trials.h"

namespace sluice::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kOutstanding = 512;

// Until the origin is unavailable, or is not.
void await(Limiter& limiter, bool unavailable, const Key& key) {
    const Clock::time_point end = Clock::now() + kPatience;
    while (limiter.stats().origin.unavailable != unavailable) {
        if (Clock::now() > end) give_up("the origin does not change");
        // Finding out takes somebody who asks.
        if (unavailable) limiter.limit_async(request_for(key, 0), wall_time(), [](const auto&) {});
        std::this_thread::sleep_for(1ms);
    }
}

void say(const char* what) {
    std::cout << what << std::endl;
}

}  // namespace

int run(const ReplayTrial& trial) {
    const std::vector<Key> keys = in_turn(trial.keys);
    Limiter limiter = make_limiter(trial.origin);
    // A key that was read before has one cell to tell of; one that was not asks for the window
    // before as well, which is cheaper and would flatter the figure.
    ask_for_all(limiter, keys, kOutstanding, 0);

    say("attached");
    std::cin.get();
    await(limiter, true, keys.front());
    if (!decide_all(limiter, keys)) give_up("a request did not pass");
    if (limiter.stats().origin.flushed != 0) give_up("something was told too early");

    say("spent");
    await(limiter, false, keys.front());
    while (limiter.stats().origin.flushed == 0) {
        std::this_thread::sleep_for(100us);
    }
    const Clock::time_point begin = Clock::now();
    const double processor_before = processor_seconds(Whose::kProcess);
    limiter.close(kPatience);
    const double seconds = std::chrono::duration<double>(since(begin)).count();
    const double processor = processor_seconds(Whose::kProcess) - processor_before;
    const OriginStats origin = limiter.stats().origin;
    if (origin.outages != 1 || origin.flushed < trial.keys) give_up_disturbed();
    const std::uint64_t told = origin.flushed;
    std::cout << "{\"rate\": " << static_cast<double>(told) / seconds
              << ", \"processor_us\": " << processor / static_cast<double>(told) * 1e6
              << ", \"told\": " << told << "}" << std::endl;
    return 0;
}

}  // namespace sluice::bench
