// The measurements that each candidate goes through, each in a fresh process.
#ifndef SLUICE_BENCH_TABLES_TRIAL_H_
#define SLUICE_BENCH_TABLES_TRIAL_H_

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <ctime>
#include <future>
#include <vector>

#include "measure/process.h"
#include "measure/stalls.h"
#include "tables/candidate.h"

namespace sluice::bench {

struct Load {
    std::uint32_t keys;
    std::uint32_t threads;
    std::size_t counts_per_thread;
};

// Nanoseconds per count. One thread's cost is its processor time, which doesn't count what else the
// machine does meanwhile; the throughput of several threads is measured in real time.
struct Pace {
    double cpu;   // of one thread
    double real;  // of all threads together
};

inline double thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Counts the share's keys in random order, once to make them and then `counts` times, and returns
// the processor time of the latter. All threads start together.
template <Candidate Table>
double count_share(Table& table, Share share, std::size_t counts, std::barrier<>& together) {
    pin_to_core(share.index);
    [[maybe_unused]] const typename Table::Thread registered;
    const std::vector<Key> order = random_order(share);
    for (const Key& key : order) {
        table.count(key);
    }
    Cursor cursor(order);
    together.arrive_and_wait();
    const double begin = thread_cpu_ns();
    for (std::size_t i = 0; i < counts; ++i) {
        table.count(cursor.next());
    }
    const double took = thread_cpu_ns() - begin;
    together.arrive_and_wait();
    return took;
}

// With more than one thread, each has its own part of the keys, or all have the one key.
template <Candidate Table>
Pace time_counts(Table& table, const Load& load) {
    std::barrier together(load.threads + 1);
    std::vector<std::future<double>> threads;
    for (std::uint32_t index = 0; index < load.threads; ++index) {
        threads.push_back(std::async(std::launch::async, [&, index] {
            const Share share{.count = load.keys, .index = index, .of = load.threads};
            return count_share(table, share, load.counts_per_thread, together);
        }));
    }
    together.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    together.arrive_and_wait();
    const auto real = static_cast<double>(since(begin).count());
    double cpu = 0;
    for (std::future<double>& thread : threads) {
        cpu += thread.get();
    }
    const auto counts = static_cast<double>(load.counts_per_thread * load.threads);
    return {.cpu = cpu / counts, .real = real / counts};
}

// How long single insertions take while the table grows from nothing, in processor time: what the
// table itself does, and the memory that the system gives it, but not the thread's waiting for its
// turn.
template <Candidate Table>
Tail time_growth(std::uint32_t count) {
    const std::vector<Key> keys = in_turn(count);
    [[maybe_unused]] const typename Table::Thread registered;
    Table table(count / 5 * 6);
    pin_to_core(0);
    Durations durations(count);
    for (const Key& key : keys) {
        const double begin = thread_cpu_ns();
        table.count(key);
        durations.add(std::chrono::nanoseconds(std::llround(thread_cpu_ns() - begin)));
    }
    return durations.tail();
}

// Resident bytes per key beyond its own, all structures included.
template <Candidate Table>
double bytes_per_key(std::uint32_t count) {
    const std::vector<Key> keys = in_turn(count);
    [[maybe_unused]] const typename Table::Thread registered;
    const std::size_t before = resident_bytes();
    Table table(2 * keys.size());
    for (const Key& key : keys) {
        table.count(key);
    }
    const auto grown = static_cast<double>(resident_bytes() - before);
    return std::max(0.0, grown / count - static_cast<double>(kOwnBytes));
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_TRIAL_H_
