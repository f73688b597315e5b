#include "service/deadline_queue.h"

namespace sluice {

DeadlineQueue::Name DeadlineQueue::add(Time deadline, std::function<void()> finish) {
    const Name name{deadline, ++last_};
    waits_.emplace(name, std::move(finish));
    return name;
}

void DeadlineQueue::end(const Name& wait) {
    // Out of the map first: whoever is told may begin another wait.
    if (const auto ended = waits_.extract(wait)) ended.mapped()();
}

void DeadlineQueue::end_due(Time now) {
    while (!waits_.empty() && waits_.begin()->first.first <= now)
        end(waits_.begin()->first);
}

void DeadlineQueue::end_all() {
    while (!waits_.empty())
        end(waits_.begin()->first);
}

std::optional<DeadlineQueue::Time> DeadlineQueue::wake_at() const {
    if (waits_.empty()) return std::nullopt;
    return waits_.begin()->first.first;
}

}  // namespace sluice
