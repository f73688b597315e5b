#include "base/thread.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <pthread.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{10};
constexpr milliseconds kLongestPause{320};
// A body that has run for so long had recovered.
constexpr std::chrono::seconds kRecovered{10};

void call(const ThreadOptions& options, std::string_view why) noexcept {
    if (!options.on_failure) return;
    try {
        options.on_failure({.thread = options.name,
                            .why = why,
                            .has_ended = options.after_failure == AfterFailure::kEnd});
    } catch (...) {
        // There is no memory for the report either.
    }
}

void run(const ThreadOptions& options, const std::function<void()>& body) {
    pthread_setname_np(pthread_self(), options.name);
    milliseconds pause = kFirstPause;
    for (auto began = Clock::now(); !run_guarded(options, body); began = Clock::now()) {
        if (options.after_failure == AfterFailure::kEnd) return;
        if (Clock::now() - began >= kRecovered) pause = kFirstPause;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

}  // namespace

namespace internal {

void report_failure(const ThreadOptions& options) noexcept {
    try {
        throw;
    } catch (const std::exception& failure) {
        call(options, failure.what());
    } catch (...) {
        call(options, "an exception of an unknown type");
    }
}

}  // namespace internal

std::thread start_thread(ThreadOptions options, std::function<void()> body) {
    return std::thread(
        [options = std::move(options), body = std::move(body)] { run(options, body); });
}

}  // namespace sluice
