#include "base/turn_thread.h"

#include <utility>

#include <unistd.h>

namespace sluice {

void TurnThread::start(Turn turn) {
    process_ = getpid();
    thread_ = std::thread([state = state_.get(), turn = std::move(turn)] { state->run(turn); });
}

void TurnThread::State::run(const Turn& turn) {
    std::unique_lock lock(mutex);
    while (!is_stopping) {
        is_awake = false;
        lock.unlock();
        const Time next = turn();
        lock.lock();
        woken.wait_until(lock, next, [this] { return is_awake || is_stopping; });
    }
}

void TurnThread::wake() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->is_awake = true;
    }
    state_->woken.notify_one();
}

void TurnThread::stop() {
    if (!thread_.joinable()) return;
    if (process_ != getpid()) {
        // The thread that waits here is not in this process, and never leaves.
        thread_.detach();
        static_cast<void>(state_.release());
        return;
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->is_stopping = true;
    }
    state_->woken.notify_one();
    thread_.join();
}

}  // namespace sluice
