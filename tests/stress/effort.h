// The number of iterations of a stress test, by build type.
#ifndef SLUICE_TESTS_STRESS_EFFORT_H_
#define SLUICE_TESTS_STRESS_EFFORT_H_

namespace sluice::stress {

// A part of `calls` where a sanitizer makes each of them slower. Threads that run for as long meet
// as often.
constexpr int scaled(int calls) {
#if defined(__SANITIZE_THREAD__)
    return calls / 10;
#elif defined(__SANITIZE_ADDRESS__)
    return calls / 4;
#else
    return calls;
#endif
}

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_EFFORT_H_
