#include "base/turn_thread.h"

#include <utility>

namespace sluice {

void TurnThread::start(Turn turn) {
    thread_ = std::thread([this, turn = std::move(turn)] { run(turn); });
}

void TurnThread::run(const Turn& turn) {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
        is_awake_ = false;
        lock.unlock();
        const Time next = turn();
        lock.lock();
        woken_.wait_until(lock, next, [this] { return is_awake_ || is_stopping_; });
    }
}

void TurnThread::wake() {
    {
        const std::lock_guard lock(mutex_);
        is_awake_ = true;
    }
    woken_.notify_one();
}

void TurnThread::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    woken_.notify_one();
    thread_.join();
}

}  // namespace sluice
