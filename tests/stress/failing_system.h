// Makes allocations and thread creations of this program fail: link failing_system.cc to it.
#ifndef SLUICE_TESTS_STRESS_FAILING_SYSTEM_H_
#define SLUICE_TESTS_STRESS_FAILING_SYSTEM_H_

namespace sluice::stress {

// Has the `nth` operator new of this thread from now on throw std::bad_alloc, once.
void fail_allocation(int nth);
// Has none fail any more. True if one has.
bool stop_failing();

// Has the `nth` operator new from now on, of the threads with this name together, throw, once. The
// name is a literal.
void fail_allocation_of(const char* thread, int nth);
// Has none of these fail any more. True if one has.
bool stop_failing_threads();

// Has the `nth` pthread_create() from now on fail, once. 0: none does.
void fail_thread(int nth);

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_FAILING_SYSTEM_H_
