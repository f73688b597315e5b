#include "counter/entry_pool.h"

#include <new>

namespace sluice {

EntryPool::~EntryPool() {
    for (const Waiting& waiting : waiting_)
        waiting.entry->~Entry();
}

void EntryPool::give_back(Entry& entry) noexcept {
    try {
        waiting_.push_back({.entry = &entry, .unlinked = Epoch::now()});
    } catch (const std::bad_alloc&) {
        return;
    }
    if (waiting_.size() < kPatience) return;
    // Up to two for each one that comes: this keeps up, and never sweeps.
    for (int i = 0; i < 2 && !waiting_.empty(); ++i) {
        const Waiting oldest = waiting_.front();
        if (Epoch::now() < oldest.unlinked + Epoch::kGrace) return Epoch::try_advance();
        waiting_.pop_front();
        reclaim(*oldest.entry);
    }
}

void EntryPool::reclaim(Entry& entry) {
    entry.~Entry();
    free_ = new (&entry) Place{.next_free = free_};
}

EntryPool::Place* EntryPool::take() {
    if (free_ != nullptr) return std::exchange(free_, free_->next_free);
    if (used_ == kChunk) {
        newest_ = static_cast<Place*>(memory_->take_chunk());
        if (newest_ == nullptr) {
            own_chunks_.push_back(std::make_unique_for_overwrite<Place[]>(kChunk));
            newest_ = own_chunks_.back().get();
        }
        used_ = 0;
    }
    return &newest_[used_++];
}

}  // namespace sluice
