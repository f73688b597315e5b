#include "service/deadline_thread.h"

#include <algorithm>

namespace sluice {

void DeadlineThread::start() {
    thread_.start([this] { return turn(); });
}

void DeadlineThread::add(Key key, std::function<void()> expire) {
    {
        const MutexLock lock(mutex_);
        calls_.emplace(key, std::move(expire));
        was_used_ = true;
        if (std::exchange(is_watching_, true)) return;
    }
    thread_.wake();
}

void DeadlineThread::remove(Key key) {
    std::map<Key, std::function<void()>>::node_type removed;  // destroyed without the lock
    const MutexLock lock(mutex_);
    removed = calls_.extract(key);
}

std::function<void()> DeadlineThread::take_due(Time now) {
    const MutexLock lock(mutex_);
    if (calls_.empty() || calls_.begin()->first.first > now) return nullptr;
    return std::move(calls_.extract(calls_.begin()).mapped());
}

void DeadlineThread::expire_all() {
    while (const auto expire = take_due(Time::max()))
        expire();
}

DeadlineThread::Time DeadlineThread::turn() {
    const Time now = Time::clock::now();
    while (const auto expire = take_due(now))
        expire();
    const MutexLock lock(mutex_);
    is_watching_ = std::exchange(was_used_, false) || !calls_.empty();
    if (!is_watching_) return now + std::chrono::hours(1);
    // What is added while it sleeps is due after `shortest_` at the earliest.
    const Time next = now + shortest_;
    return calls_.empty() ? next : std::min(next, calls_.begin()->first.first);
}

}  // namespace sluice
