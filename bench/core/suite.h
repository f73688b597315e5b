// The benchmarks that core_bench runs. Each function registers its own.
#ifndef SLUICE_BENCH_CORE_SUITE_H_
#define SLUICE_BENCH_CORE_SUITE_H_

#include <array>
#include <cstdint>

#include <benchmark/benchmark.h>

namespace sluice::bench {

inline constexpr std::array<std::int64_t, 3> kKeyCounts{1, 1'000, 1'000'000};

// A limit that is never reached, so that every decision passes.
inline constexpr std::int64_t kEndless = std::int64_t{1} << 52;

// kQuick checks in seconds that everything runs; kFull gives the figures.
enum class Size { kFull, kQuick };

void register_floor();
void register_decide();
void register_batch();
void register_insight();
void register_growth(Size size);
void register_memory();

// Prints how much the slowest decision of growth to 5,000,000 keys exceeds the slowest step of an
// idle loop beside it, in each of five runs.
inline constexpr const char* kMeasureGrowth = "--growth-delay";
int measure_growth();

// What the memory benchmark's fresh process does: prints the resident bytes per key beyond its own.
inline constexpr const char* kMeasureMemory = "--measure-memory";
int measure_memory();

// Registers `run` for each number of keys, as name/keys:K, on one thread.
template <class Run>
void register_per_key_count(const char* name, Run run) {
    for (const std::int64_t keys : kKeyCounts) {
        benchmark::RegisterBenchmark(name, run)->ArgName("keys")->Arg(keys);
    }
}

// The same with two threads, as name/keys:K/threads:2.
template <class Run>
void register_per_key_count_on_two_threads(const char* name, Run run) {
    for (const std::int64_t keys : kKeyCounts) {
        benchmark::RegisterBenchmark(name, run)->ArgName("keys")->Arg(keys)->Threads(2);
    }
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_SUITE_H_
