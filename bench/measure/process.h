// The benchmark's own process: pinning to a core, processor time, memory, and a fresh copy of it.
#ifndef SLUICE_BENCH_MEASURE_PROCESS_H_
#define SLUICE_BENCH_MEASURE_PROCESS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::bench {

// Keeps the calling thread on the index-th of the cores that the process was started with (modulo
// their number), so that two measured threads never share one.
void pin_to_core(std::size_t index);
// Lets the calling thread run on all of them again.
void unpin();

// The processor time that the calling thread, or the whole process, has had.
enum class Whose { kThread, kProcess };
double processor_seconds(Whose whose);

// How much of this process is in physical memory.
std::size_t resident_bytes();

// Runs this program afresh with these arguments and returns the numbers that it prints; none if it
// failed. A fresh process has no free memory left over from earlier measurements.
std::vector<double> numbers_from_fresh_process(const std::vector<std::string>& arguments);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_MEASURE_PROCESS_H_
