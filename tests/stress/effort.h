// The number of iterations of a stress test, by build type.
#ifndef SLUICE_TESTS_STRESS_EFFORT_H_
#define SLUICE_TESTS_STRESS_EFFORT_H_

#include "base/sanitizer.h"

namespace sluice::stress {

// A part of `calls` where a sanitizer makes each of them slower. Threads that run for as long meet
// as often.
constexpr int scaled(int calls) {
#if SLUICE_TSAN
    return calls / 10;
#elif SLUICE_ASAN
    return calls / 4;
#else
    return calls;
#endif
}

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_EFFORT_H_
