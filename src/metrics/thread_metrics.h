// The counters of one serving thread.
#ifndef SLUICE_METRICS_THREAD_METRICS_H_
#define SLUICE_METRICS_THREAD_METRICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "metrics/names.h"

namespace sluice::metrics {

// A number that one thread raises and any thread reads. Relaxed: it stands for itself and publishes
// nothing. With a single writer a load and a store are enough, so that adding costs no more than to
// a plain integer.
class Counter {
  public:
    void add(std::uint64_t n = 1) {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

// Counters that differ in one label.
template <class Label>
class CounterBy {
  public:
    Counter& operator[](Label label) { return counters_[static_cast<std::size_t>(label)]; }
    const Counter& operator[](Label label) const {
        return counters_[static_cast<std::size_t>(label)];
    }

  private:
    std::array<Counter, kCountOf<Label>> counters_;
};

// How long things took, in fixed buckets. A reader may see an observation in its bucket before it
// sees it in the sum.
class Histogram {
  public:
    // Upper bounds, inclusive. Most requests fall into the first few, which are tried first.
    static constexpr std::array<std::chrono::nanoseconds, 20> kBounds = [] {
        using std::chrono::microseconds;
        using std::chrono::milliseconds;
        using std::chrono::seconds;
        return std::array<std::chrono::nanoseconds, 20>{
            microseconds{5},    microseconds{10},   microseconds{25},  microseconds{50},
            microseconds{100},  microseconds{250},  microseconds{500}, milliseconds{1},
            microseconds{2500}, milliseconds{5},    milliseconds{10},  milliseconds{25},
            milliseconds{50},   milliseconds{100},  milliseconds{250}, milliseconds{500},
            seconds{1},         milliseconds{2500}, seconds{5},        seconds{10}};
    }();
    static constexpr std::size_t kBuckets = kBounds.size() + 1;  // the last one has no bound

    void observe(std::chrono::nanoseconds took) {
        std::size_t bucket = 0;
        while (bucket < kBounds.size() && took > kBounds[bucket]) {
            ++bucket;
        }
        counts_[bucket].add();
        sum_ns_.add(took.count() > 0 ? static_cast<std::uint64_t>(took.count()) : 0);
    }
    // How many fell into this bucket and no earlier one.
    std::uint64_t read(std::size_t bucket) const { return counts_[bucket].read(); }
    std::uint64_t sum_ns() const { return sum_ns_.read(); }

  private:
    std::array<Counter, kBuckets> counts_;
    Counter sum_ns_;
};

// Written by its own thread alone, read by the threads that serve scrapes. On cache lines of its
// own, so that threads don't slow each other down by counting.
//
//     thread_metrics.decisions(Source::kLocal, Outcome::kPassed).add();
//     thread_metrics.latency(Route::kLimit).observe(finished - started);
struct alignas(64) ThreadMetrics {
    Counter& decisions(Source source, Outcome outcome) {
        return by_source[static_cast<std::size_t>(source)][outcome];
    }
    Histogram& latency(Route route) { return by_route[static_cast<std::size_t>(route)]; }
    const Histogram& latency(Route route) const {
        return by_route[static_cast<std::size_t>(route)];
    }

    std::array<CounterBy<Outcome>, kCountOf<Source>> by_source;
    std::array<Histogram, kCountOf<Route>> by_route;
    Counter overridden;
    CounterBy<Success> override_writes;
    CounterBy<ErrorKind> errors;
};

}  // namespace sluice::metrics

#endif  // SLUICE_METRICS_THREAD_METRICS_H_
