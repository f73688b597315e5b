#include "global/announce_queue.h"

#include <algorithm>
#include <utility>

namespace sluice {

void AnnounceQueue::add(const CellName& cell, Count count, Time now) {
    bool is_first = false;
    {
        const MutexLock lock(mutex_);
        is_first = cells_.empty();
        if (is_first) due_ = now + config_.gather;
        const auto [place, is_new] = cells_.try_emplace(cell);
        Queued& queued = place->second;
        if (!is_new && count <= queued.count) return;
        if (!is_new) order_.erase(queued.order);
        queued = {.count = count, .order = next_order_++};
        order_.emplace(queued.order, place);
        if (cells_.size() > config_.most_cells) drop_oldest();
    }
    if (is_first && config_.on_first) config_.on_first();
}

void AnnounceQueue::drop_oldest() {
    const auto oldest = order_.begin();
    cells_.erase(oldest->second);
    order_.erase(oldest);
    ++dropped_;
}

std::vector<RegionCount> AnnounceQueue::take(Time now) {
    Cells taken;
    {
        const MutexLock lock(mutex_);
        if (now < due_) return {};
        due_ = Time::max();
        order_.clear();
        taken = std::exchange(cells_, {});
    }
    std::vector<RegionCount> counts;
    counts.reserve(taken.size());
    for (auto it = taken.begin(); it != taken.end();) {
        auto node = taken.extract(it++);
        counts.push_back({.cell = std::move(node.key()), .count = node.mapped().count});
    }
    return counts;
}

AnnounceQueue::Time AnnounceQueue::wake_at() const {
    const MutexLock lock(mutex_);
    return due_;
}

std::uint64_t AnnounceQueue::dropped() const {
    const MutexLock lock(mutex_);
    return dropped_;
}

}  // namespace sluice
