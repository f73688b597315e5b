// Reports failures of a limiter's threads as long as the limiter is there.
#ifndef SLUICE_SERVICE_FAILURE_GATE_H_
#define SLUICE_SERVICE_FAILURE_GATE_H_

#include <sluice/limiter.h>

#include <memory>
#include <utility>

#include "base/mutex.h"
#include "base/thread.h"

namespace sluice {

// Passes failures on until it is closed: a thread that was stuck may go on after the limiter is
// gone. Thread-safe.
class FailureGate {
  public:
    explicit FailureGate(OnThreadFailure on_failure) : on_failure_(std::move(on_failure)) {}

    void pass(const ThreadFailure& failure) {
        const MutexLock lock(mutex_);
        if (on_failure_) on_failure_(failure);
    }
    void close() {
        const MutexLock lock(mutex_);
        on_failure_ = nullptr;
    }

  private:
    Mutex mutex_;
    OnThreadFailure on_failure_ SLUICE_GUARDED_BY(mutex_);
};

// Has the callback of the options go through a gate, and returns that.
inline std::shared_ptr<FailureGate> put_gate(Options& options) {
    auto gate = std::make_shared<FailureGate>(std::move(options.on_thread_failure));
    options.on_thread_failure = [gate](const ThreadFailure& failure) { gate->pass(failure); };
    return gate;
}

}  // namespace sluice

#endif  // SLUICE_SERVICE_FAILURE_GATE_H_
