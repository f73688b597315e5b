// Counts the locks that a program takes: link lock_count.cc to it.
#ifndef SLUICE_TESTS_STRESS_LOCK_COUNT_H_
#define SLUICE_TESTS_STRESS_LOCK_COUNT_H_

#include <cstdint>

namespace sluice::stress {

// How often this thread has locked a mutex so far.
std::int64_t locks_of_this_thread();

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_LOCK_COUNT_H_
