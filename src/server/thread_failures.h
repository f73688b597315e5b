// Failures of the process's threads: logged, counted, and its end where a thread can't go on.
#ifndef SLUICE_SERVER_THREAD_FAILURES_H_
#define SLUICE_SERVER_THREAD_FAILURES_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/thread.h"
#include "log/log.h"

namespace sluice::server {

// Thread-safe; `log` must outlive it.
class ThreadFailures {
  public:
    explicit ThreadFailures(Log& log) : log_(log) {}

    // Counts the failure, and logs at most one in kLogInterval. Where the thread has ended, logs
    // that and aborts the process, to be restarted by its supervisor: without one of its threads a
    // server looks alive and does not do its work.
    void note(const ThreadFailure& failure);
    // note() as a function, for the threads' options.
    OnThreadFailure reporter() {
        return [this](const ThreadFailure& failure) { note(failure); };
    }

    // Those noted so far, and those of the log's own thread.
    std::uint64_t count() const {
        return count_.load(std::memory_order_relaxed) + log_.thread_failures();
    }

    static constexpr std::chrono::seconds kLogInterval{1};

  private:
    using Clock = std::chrono::steady_clock;

    Log& log_;
    // Both are written by any thread. Relaxed: they publish nothing.
    std::atomic<std::uint64_t> count_{0};
    std::atomic<Clock::time_point> logged_at_{Clock::time_point::min()};
};

}  // namespace sluice::server

#endif  // SLUICE_SERVER_THREAD_FAILURES_H_
