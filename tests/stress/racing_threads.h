// Starts threads that run at the same time.
#ifndef SLUICE_TESTS_STRESS_RACING_THREADS_H_
#define SLUICE_TESTS_STRESS_RACING_THREADS_H_

#include <latch>
#include <thread>
#include <vector>

namespace sluice::stress {

// Calls `body(i)` for i = 0 to threads - 1, each on its own thread. None begins before all are
// there; returns when all have ended.
template <class Body>
void race(int threads, Body body) {
    std::latch start(threads);
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([&start, &body, i] {
            start.arrive_and_wait();
            body(i);
        });
    }
}

}  // namespace sluice::stress

#endif  // SLUICE_TESTS_STRESS_RACING_THREADS_H_
