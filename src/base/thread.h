// Starts threads, and stops exceptions before they end the process.
#ifndef SLUICE_BASE_THREAD_H_
#define SLUICE_BASE_THREAD_H_

#include <sluice/types.h>

#include <cstdint>
#include <functional>
#include <thread>

namespace sluice {

// Called on the thread that has failed. What it throws, for lack of memory for example, is ignored.
using OnThreadFailure = std::function<void(const ThreadFailure&)>;

// What a thread does after an exception.
enum class AfterFailure : std::uint8_t {
    kGoOn,
    kEnd,  // what it works on may be inconsistent; the reporter may end the process
};

struct ThreadOptions {
    const char* name;  // as `top -H` and debuggers show it: a literal of up to 15 bytes
    OnThreadFailure on_failure = {};
    AfterFailure after_failure = AfterFailure::kGoOn;
};

namespace internal {

// Reports the exception that is being handled.
void report_failure(const ThreadOptions& options) noexcept;

}  // namespace internal

// Runs `body`. If that throws, whatever it is, reports the failure and returns false. For threads,
// and for callbacks of C libraries, through which no exception may pass.
template <class Body>
bool run_guarded(const ThreadOptions& options, Body&& body) noexcept {
    try {
        body();
        return true;
    } catch (...) {
        internal::report_failure(options);
        return false;
    }
}

// Starts a thread that runs `body` until it returns. If it throws instead, the failure is reported,
// and `body` is called again unless the thread is to end: bodies are loops that can be entered
// again. The pause before that grows from 10 to 320 ms while failures follow each other.
//
// All threads of the program and the library are started here. Throws std::system_error if the
// system refuses one.
std::thread start_thread(ThreadOptions options, std::function<void()> body);

}  // namespace sluice

#endif  // SLUICE_BASE_THREAD_H_
