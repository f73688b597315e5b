#include "server/thread_failures.h"

#include <chrono>
#include <cstdlib>

namespace sluice::server {

void ThreadFailures::note(const ThreadFailure& failure) {
    const std::uint64_t failures = count_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (failure.has_ended) {
        // Aborts also where there is no memory for the line.
        run_guarded({.name = "sluice"}, [&] {
            log_.error("thread_ended",
                       {{"thread", failure.thread},
                        {"why", failure.why},
                        {"then", "the process ends, since it can't work without this thread"}});
        });
        log_.flush();
        std::abort();
    }
    const Clock::time_point now = Clock::now();
    Clock::time_point last = logged_at_.load(std::memory_order_relaxed);
    const bool is_due = last == Clock::time_point::min() || now - last >= kLogInterval;
    if (!is_due || !logged_at_.compare_exchange_strong(last, now, std::memory_order_relaxed))
        return;
    log_.error("thread_failed",
               {{"thread", failure.thread}, {"why", failure.why}, {"failures", failures}});
}

}  // namespace sluice::server
