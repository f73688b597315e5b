// Counts the allocations of a program: link allocation_count.cc to it.
#ifndef SLUICE_TESTS_STRESS_ALLOCATION_COUNT_H_
#define SLUICE_TESTS_STRESS_ALLOCATION_COUNT_H_

#include <cstdint>

namespace sluice::stress {

// How many blocks this thread has taken from malloc and its relatives so far; operator new takes
// from there, too.
std::int64_t allocations_of_this_thread();

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_ALLOCATION_COUNT_H_
