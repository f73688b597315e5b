// The trials of regional_bench. Each prints its figures as one JSON object and returns the exit
// code of the program.
#ifndef SLUICE_BENCH_REGIONAL_TRIALS_H_
#define SLUICE_BENCH_REGIONAL_TRIALS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::bench {

// Warm decisions on a few keys, for a while. Without an origin: the same limiter alone.
struct WarmTrial {
    std::string origin;
    std::size_t threads;
    std::chrono::milliseconds length;
};
int run(const WarmTrial& trial);

// A number of requests on a few keys, all flushed in the end. The caller reads from Redis how many
// commands that took.
struct HotTrial {
    std::string origin;
    std::uint64_t requests;
    std::uint64_t per_second;  // 0: as fast as one thread can
};
int run(const HotTrial& trial);

// Keys that are spent once each while Redis is stopped, and flushed when it continues. Prints
// "attached" when Redis is to be stopped and "spent" when it is to continue, and waits for a line
// of input after the first.
struct FlushTrial {
    std::string origin;
    std::uint32_t keys;
};
int run(const FlushTrial& trial);

// Keys that are requested once each, with `outstanding` requests in flight.
struct ColdTrial {
    std::string origin;
    std::uint32_t keys;
    std::uint32_t outstanding;
    std::int64_t cost;
};
int run(const ColdTrial& trial);

// Prints the commands that redis-benchmark sends for comparison, as JSON: load the script that
// syncs keys, run it for one key, and read a cell, with __rand_int__ in place of the identifier;
// and how many keys the limiter syncs with one run of the script.
int print_commands();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_REGIONAL_TRIALS_H_
