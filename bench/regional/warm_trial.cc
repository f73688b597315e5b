#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "measure/process.h"
#include "measure/stalls.h"
#include "regional/subject.h"
#include "regional/trials.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kKeys = 1'000;

// The work of one thread.
struct Work {
    std::uint64_t decisions = 0;
    double processor_seconds = 0;
    std::int64_t waits = 0;  // for anything: for the origin, for a lock
    bool has_passed = true;
};

std::int64_t waits_of_this_thread() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(since(begin)).count();
}

Work decide_until(Limiter& limiter, const std::vector<Key>& order, Clock::time_point end) {
    Work work;
    const double before = processor_seconds(Whose::kThread);
    const std::int64_t waits_before = waits_of_this_thread();
    while (Clock::now() < end) {
        work.has_passed &= decide_all(limiter, order);
        work.decisions += order.size();
    }
    work.processor_seconds = processor_seconds(Whose::kThread) - before;
    work.waits = waits_of_this_thread() - waits_before;
    return work;
}

// The deciding threads have a core each, from the last one downwards. The limiter's own thread
// stays on the first, beside Redis: a decision is to be measured, not what else its core does.
void pin_limiters_own() {
    pin_to_core(0);
}
void pin_decider(std::size_t index) {
    pin_to_core(index + 1);
}

void print(const std::vector<Work>& all, double seconds, const OriginStats& origin) {
    std::uint64_t decisions = 0;
    double processor = 0;
    std::int64_t waits = 0;
    for (const Work& work : all) {
        decisions += work.decisions;
        processor += work.processor_seconds;
        waits += work.waits;
    }
    const auto count = static_cast<double>(decisions);
    std::printf(
        "{\"rate\": %.0f, \"per_processor_second\": %.0f, \"waits\": %lld, \"flushed\": %llu, "
        "\"reads\": %llu, "
        "\"fallbacks\": %llu}\n",
        count / seconds,
        count / processor,
        static_cast<long long>(waits),
        static_cast<unsigned long long>(origin.flushed),
        static_cast<unsigned long long>(origin.spends),
        static_cast<unsigned long long>(origin.fallbacks));
}

}  // namespace

int run(const WarmTrial& trial) {
    pin_limiters_own();
    Limiter limiter = make_limiter(trial.origin);
    if (!decide_all(limiter, in_turn(kKeys))) give_up("a request did not pass");
    const OriginStats before = limiter.stats().origin;

    std::vector<Work> all(trial.threads);
    Clock::time_point begin;
    std::barrier start(static_cast<std::ptrdiff_t>(trial.threads),
                       [&]() noexcept { begin = Clock::now(); });
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < trial.threads; ++index) {
        threads.emplace_back([&, index] {
            pin_decider(index);
            const std::vector<Key> order =
                random_order({.count = kKeys,
                              .index = static_cast<std::uint32_t>(index),
                              .of = static_cast<std::uint32_t>(trial.threads)});
            start.arrive_and_wait();
            all[index] = decide_until(limiter, order, begin + trial.length);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const double seconds = seconds_since(begin);
    OriginStats origin = limiter.stats().origin;
    if (origin.outages != 0) give_up_disturbed();
    origin.flushed -= before.flushed;
    origin.spends -= before.spends;
    origin.fallbacks -= before.fallbacks;
    for (const Work& work : all) {
        if (!work.has_passed) give_up("a request did not pass");
    }
    print(all, seconds, origin);
    return 0;
}

int run(const HotTrial& trial) {
    // About a millisecond's worth where there is a pace, so that sleeping costs little.
    const std::size_t slice = trial.per_second == 0 ? 1'000 : trial.per_second / 1'000 + 1;
    pin_limiters_own();
    Limiter limiter = make_limiter(trial.origin);
    pin_decider(0);
    const std::vector<Key> order = random_order({.count = kKeys});
    Cursor cursor(order);
    const Clock::time_point begin = Clock::now();
    bool passed = true;
    for (std::uint64_t done = 0; done < trial.requests; ++done) {
        if (trial.per_second != 0 && done % slice == 0) {
            std::this_thread::sleep_until(
                begin + std::chrono::nanoseconds(done * 1'000'000'000 / trial.per_second));
        }
        passed &= decide_all(limiter, {&cursor.next(), 1});
    }
    const double seconds = seconds_since(begin);
    limiter.close(kFlushTimeout);
    if (!passed) give_up("a request did not pass");
    if (limiter.stats().origin.outages != 0) give_up_disturbed();
    std::printf("{\"rate\": %.0f}\n", static_cast<double>(trial.requests) / seconds);
    return 0;
}

}  // namespace sluice::bench
