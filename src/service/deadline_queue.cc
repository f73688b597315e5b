#include "service/deadline_queue.h"

#include <algorithm>

namespace sluice {

DeadlineQueue::Name DeadlineQueue::add(Time deadline, std::function<void()> finish) {
    const Name name{deadline, ++last_};
    pending_.emplace(name, std::move(finish));
    return name;
}

void DeadlineQueue::end(const Name& name) {
    // Out of the map first: the callback may add another operation.
    if (const auto ended = pending_.extract(name)) ended.mapped()();
}

void DeadlineQueue::end_due(Time now) {
    while (!pending_.empty() && pending_.begin()->first.first <= now)
        end(pending_.begin()->first);
}

void DeadlineQueue::end_all() {
    while (!pending_.empty())
        end(pending_.begin()->first);
}

std::optional<DeadlineQueue::Time> DeadlineQueue::wake_at() const {
    if (pending_.empty()) return std::nullopt;
    return pending_.begin()->first.first;
}

void DeadlineThread::start(OnThreadFailure on_failure) {
    thread_.start({.name = "sluice-deadline", .on_failure = std::move(on_failure)},
                  [this] { return turn(); });
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
    // A callback that is added while it sleeps is due after `shortest_` at the earliest.
    const Time next = now + shortest_;
    return calls_.empty() ? next : std::min(next, calls_.begin()->first.first);
}

}  // namespace sluice
