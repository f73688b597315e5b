// The measurements that each candidate goes through, each in a fresh process.
#ifndef SLUICE_BENCH_TABLES_TRIAL_H_
#define SLUICE_BENCH_TABLES_TRIAL_H_

#include <barrier>
#include <chrono>
#include <thread>
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

// Nanoseconds per count of all threads together, on a table that holds its keys already. With more
// than one thread each has its own part of the keys, or all have the one key.
template <Candidate Table>
double time_per_count(Table& table, const Load& load) {
    using Clock = std::chrono::steady_clock;
    std::barrier together(load.threads + 1);
    std::vector<std::jthread> threads;
    for (std::uint32_t index = 0; index < load.threads; ++index) {
        threads.emplace_back([&table, &load, &together, index] {
            pin_to_core(index);
            [[maybe_unused]] const typename Table::Thread registered;
            const std::vector<Key> order = random_order({load.keys, index, load.threads});
            for (const Key& key : order)
                table.count(key);
            Cursor cursor(order);
            together.arrive_and_wait();
            for (std::size_t i = 0; i < load.counts_per_thread; ++i)
                table.count(cursor.next());
            together.arrive_and_wait();
        });
    }
    together.arrive_and_wait();
    const Clock::time_point begin = Clock::now();
    together.arrive_and_wait();
    const double total = static_cast<double>(load.counts_per_thread * load.threads);
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / total;
}

// How long single insertions take while the table grows from nothing, beside an idle loop.
template <Candidate Table>
Stalls time_growth(std::uint32_t count) {
    const std::vector<Key> keys = in_turn(count);
    [[maybe_unused]] const typename Table::Thread registered;
    Table table(count / 5 * 6);
    // Only now, so that a thread which the table started for itself is free to move.
    pin_to_core(0);
    return alternate_with_idle(count, [&](std::size_t i) {
        const auto begin = std::chrono::steady_clock::now();
        table.count(keys[i]);
        return since(begin);
    });
}

// Resident bytes per key beyond its own, all structures included.
template <Candidate Table>
double bytes_per_key(std::uint32_t count) {
    const std::vector<Key> keys = in_turn(count);
    [[maybe_unused]] const typename Table::Thread registered;
    const std::size_t before = resident_bytes();
    Table table(2 * keys.size());
    for (const Key& key : keys)
        table.count(key);
    const auto grown = static_cast<double>(resident_bytes() - before);
    return grown / count - static_cast<double>(kOwnBytes);
}

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_TRIAL_H_
