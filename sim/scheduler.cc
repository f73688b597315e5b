#include "sim/scheduler.h"

#include <algorithm>

namespace sluice::sim {

void Scheduler::at(Moment when, std::function<void()> act) {
    std::uint32_t place = 0;
    if (free_.empty()) {
        place = static_cast<std::uint32_t>(acts_.size());
        acts_.push_back(std::move(act));
    } else {
        place = free_.back();
        free_.pop_back();
        acts_[place] = std::move(act);
    }
    heap_.push_back({std::max(when, now_), ++last_, place});
    std::ranges::push_heap(heap_, is_later);
}

void Scheduler::run_until(Moment when) {
    while (!heap_.empty() && heap_.front().when <= when) {
        std::ranges::pop_heap(heap_, is_later);
        const Event event = heap_.back();
        heap_.pop_back();
        now_ = event.when;
        const auto act = std::exchange(acts_[event.act], nullptr);
        free_.push_back(event.act);
        act();
    }
    now_ = std::max(now_, when);
}

}  // namespace sluice::sim
