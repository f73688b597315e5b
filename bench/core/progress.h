// Tells, while the suite runs, what is being measured.
#ifndef SLUICE_BENCH_CORE_PROGRESS_H_
#define SLUICE_BENCH_CORE_PROGRESS_H_

#include <string>

namespace sluice::bench {

// Writes the seconds since the start and `what` to the error stream: on a terminal over the line
// before, elsewhere as a new line every few seconds. Called by one thread at a time.
void show_progress(const std::string& what);

// Clears the terminal's line.
void end_progress();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_CORE_PROGRESS_H_
