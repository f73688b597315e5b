#include "counter/entry_pool.h"

#include <new>

#include "base/check.h"

namespace sluice {

EntryPool::~EntryPool() {
    waiting_.for_each([](Entry& entry) { entry.~Entry(); });
}

// A failure to allocate loses the memory of one entry at most: what is not queued is not reused,
// and what is queued is looked at again.
void EntryPool::give_back(Entry& entry) noexcept try {
    waiting_.add(entry, lifetime(entry));
    if (waiting_.fresh() < kMostWaiting) return;
    waiting_.poll(2 * kMostWaiting, [this](Entry& unseen) { reclaim(unseen); });
} catch (const std::bad_alloc&) {
}

void EntryPool::reclaim(Entry& entry) {
    entry.~Entry();
    free_ = new (&entry) Place{.next_free = free_};
}

EntryPool::Place* EntryPool::take() {
    if (free_ != nullptr) return std::exchange(free_, free_->next_free);
    if (used_ == Chunk::kPlaces) {
        newest_ = static_cast<Chunk*>(memory_->take_chunk());
        if (newest_ == nullptr) {
            own_chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
            newest_ = own_chunks_.back().get();
        }
        SLUICE_CHECK(reinterpret_cast<std::uintptr_t>(newest_) % sizeof(Chunk) == 0);
        used_ = 0;
    }
    ++allocated_;
    return &newest_->places[used_++];
}

}  // namespace sluice
