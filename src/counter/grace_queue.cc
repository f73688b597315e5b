#include "counter/grace_queue.h"

#include <algorithm>

namespace sluice {

void GraceQueue::set_aside(const Waiting& waiting, const Epoch::Pin& pin) {
    const auto is_same = [&](const Aside& aside) {
        return aside.pin.reader == pin.reader && aside.pin.since == pin.since;
    };
    auto aside = std::ranges::find_if(aside_, is_same);
    if (aside == aside_.end())
        aside = aside_.insert(aside_.end(), Aside{.pin = pin, .entries = {}});
    aside->entries.push_back(waiting);
}

// Takes up to `most` entries out of what pins kept that have ended.
void GraceQueue::release_aside(std::size_t most) {
    for (Aside& aside : aside_) {
        if (!aside.pin.is_over()) continue;
        for (; most > 0 && !aside.entries.empty(); --most) {
            fresh_.push_front(aside.entries.front());
            aside.entries.pop_front();
        }
    }
    std::erase_if(aside_, [](const Aside& aside) { return aside.entries.empty(); });
}

}  // namespace sluice
