// The interface of a table under comparison, and the counter that all use.
#ifndef SLUICE_BENCH_TABLES_CANDIDATE_H_
#define SLUICE_BENCH_TABLES_CANDIDATE_H_

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "measure/hash.h"
#include "measure/keys.h"

namespace sluice::bench {

// A candidate is constructed for at most `max_keys` keys and starts empty. `count` finds the key,
// which it compares whole, or adds it, and raises its counter by one CAS; any number of threads may
// call it, each of which holds a Candidate::Thread meanwhile.
template <class T>
concept Candidate = std::constructible_from<T, std::size_t> && requires(T table, const Key& key) {
    typename T::Thread;
    { table.count(key) } -> std::same_as<void>;
};

// For tables that need no registration of threads.
struct NoThread {};

// Relaxed, because the counter guards no other memory. A try fails only where another thread's try
// succeeded, so that the threads together always make progress.
template <class Atomic>
void add_one(Atomic&& counter) {
    std::uint64_t count = counter.load(std::memory_order_relaxed);
    while (!counter.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) {
    }
}

struct KeyHash {
    std::size_t operator()(const Key& key) const { return hash_of(key.bytes()); }
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_CANDIDATE_H_
