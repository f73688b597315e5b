#include "core/limiter_under_test.h"
#include "core/progress.h"
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

// Every decision is the first one of a new key, and the table grows from nothing.
void run_growth(benchmark::State& state, std::uint32_t keys) {
    show_progress("growth");
    // Its own thread goes where the process may, as in a program that pins the threads that decide.
    unpin();
    Limiter limiter = make_limiter(keys / 5 * 6);
    pin_to_core(0);
    bool passed = true;
    Stalls stalls{};
    for (auto _ : state) {
        stalls = alternate_with_idle(keys, [&](std::size_t i) {
            const Key key(static_cast<std::uint32_t>(i));
            const Request request = request_for(key);
            const auto begin = std::chrono::steady_clock::now();
            passed &= passes(limiter, request);
            return since(begin);
        });
    }
    add_tail(state, "decision", stalls.work);
    add_tail(state, "idle", stalls.idle);
    if (!passed) state.SkipWithError("a request did not pass");
}

}  // namespace

void register_growth(Size size) {
    const std::uint32_t keys = size == Size::kFull ? 5'000'000 : 500'000;
    benchmark::RegisterBenchmark("growth", run_growth, keys)->Iterations(1);
}

}  // namespace sluice::bench
