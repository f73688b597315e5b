#include <cstdio>

#include "core/limiter_under_test.h"
#include "core/report.h"
#include "measure/process.h"

namespace sluice::bench {
namespace {

constexpr std::uint32_t kKeys = 1'000'000;

void run_memory(benchmark::State& state) {
    show_progress("memory");
    std::vector<double> bytes_per_key;
    for (auto _ : state) {
        bytes_per_key = numbers_from_fresh_process({kMeasureMemory});
    }
    if (bytes_per_key.size() != 1) return state.SkipWithError("the fresh process failed");
    state.counters["bytes_per_key"] = bytes_per_key.front();
}

}  // namespace

int measure_memory() {
    const std::size_t before = resident_bytes();
    Limiter limiter = make_limiter(kMaxKeys);
    bool passed = true;
    for (std::uint32_t number = 0; number < kKeys; ++number) {
        passed &= passes(limiter, request_for(Key(number)));
    }
    const std::size_t grown = resident_bytes() - before;
    std::printf("%f\n", static_cast<double>(grown) / kKeys - static_cast<double>(kOwnBytes));
    return passed && limiter.stats().keys_held == kKeys ? 0 : 1;
}

void register_memory() {
    benchmark::RegisterBenchmark("memory", run_memory)->Iterations(1);
}

}  // namespace sluice::bench
