#include "sim/scheduler.h"

#include <algorithm>

namespace sluice::sim {

std::uint32_t Scheduler::keep(std::function<void()> act) {
    if (free_.empty()) {
        acts_.push_back(std::move(act));
        return static_cast<std::uint32_t>(acts_.size() - 1);
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    acts_[place] = std::move(act);
    return place;
}

void Scheduler::at(Moment when, std::function<void()> act) {
    heap_.push_back({std::max(when, now_), ++last_, keep(std::move(act))});
    std::ranges::push_heap(heap_, is_later);
}

void Scheduler::after_timeout(std::function<void()> act) {
    timeouts_.push_back({now_ + kTimeout, ++last_, keep(std::move(act))});
}

bool Scheduler::take_next(Moment until, Event& event) {
    const bool has_timeout =
        !timeouts_.empty() && (heap_.empty() || is_later(heap_.front(), timeouts_.front()));
    if (has_timeout) {
        event = timeouts_.front();
        if (event.when > until) return false;
        timeouts_.pop_front();
        return true;
    }
    if (heap_.empty() || heap_.front().when > until) return false;
    std::ranges::pop_heap(heap_, is_later);
    event = heap_.back();
    heap_.pop_back();
    return true;
}

void Scheduler::run_until(Moment when) {
    Event event{};
    while (take_next(when, event)) {
        now_ = event.when;
        const auto act = std::exchange(acts_[event.act], nullptr);
        free_.push_back(event.act);
        act();
    }
    now_ = std::max(now_, when);
}

}  // namespace sluice::sim
