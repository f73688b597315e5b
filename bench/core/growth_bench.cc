#include <cstdio>

#include "core/limiter_under_test.h"
#include "core/report.h"
#include "measure/process.h"
#include "measure/stalls.h"

namespace sluice::bench {
namespace {

void add_tail(benchmark::State& state, const std::string& of, const Tail& tail) {
    state.counters[of + "_median_ns"] = tail.median;
    state.counters[of + "_p99.9_ns"] = tail.p999;
    state.counters[of + "_p99.99_ns"] = tail.p9999;
    state.counters[of + "_slowest_ns"] = tail.slowest;
}

constexpr std::uint32_t kManyKeys = 5'000'000;

// Every decision is the first one of a new key, and the table grows from nothing.
Stalls grow(std::uint32_t keys, bool& passed) {
    // Its own thread goes where the process may, as in a program that pins the threads that decide.
    unpin();
    Limiter limiter = make_limiter(keys / 5 * 6);
    pin_to_core(0);
    return alternate_with_idle(keys, [&](std::size_t i) {
        const Key key(static_cast<std::uint32_t>(i));
        const Request request = request_for(key);
        const auto begin = std::chrono::steady_clock::now();
        passed &= passes(limiter, request);
        return since(begin);
    });
}

void run_growth(benchmark::State& state, std::uint32_t keys) {
    show_progress("growth");
    bool passed = true;
    Stalls stalls{};
    for (auto _ : state)
        stalls = grow(keys, passed);
    add_tail(state, "decision", stalls.work);
    add_tail(state, "idle", stalls.idle);
    if (!passed) state.SkipWithError("a request did not pass");
}

}  // namespace

int measure_growth() {
    constexpr int kRuns = 5;
    constexpr double kMostMs = 0.5;
    constexpr double kNsPerMs = 1e6;
    int within = 0;
    int control_within = 0;
    for (int run = 1; run <= kRuns; ++run) {
        bool passed = true;
        const Stalls stalls = grow(kManyKeys, passed);
        if (!passed) return 1;
        const double decision = stalls.work.slowest / kNsPerMs;
        const double idle = stalls.idle.slowest / kNsPerMs;
        const double control = stalls.control.slowest / kNsPerMs;
        within += decision - idle <= kMostMs ? 1 : 0;
        control_within += control - idle <= kMostMs ? 1 : 0;
        std::printf(
            "run %d: slowest decision %.3f ms, idle loop %.3f ms, second idle loop %.3f ms\n",
            run,
            decision,
            idle,
            control);
        std::fflush(stdout);
    }
    std::printf(
        "within %.1f ms of the idle loop: decisions in %d of %d runs, the second idle loop "
        "in %d\n",
        kMostMs,
        within,
        kRuns,
        control_within);
    return 0;
}

void register_growth(Size size) {
    const std::uint32_t keys = size == Size::kFull ? kManyKeys : kManyKeys / 10;
    benchmark::RegisterBenchmark("growth", run_growth, keys)->Iterations(1);
}

}  // namespace sluice::bench
