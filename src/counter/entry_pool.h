// Memory for entries, in chunks.
#ifndef SLUICE_COUNTER_ENTRY_POOL_H_
#define SLUICE_COUNTER_ENTRY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "counter/entry.h"
#include "counter/epoch.h"
#include "counter/memory_ahead.h"

namespace sluice {

// EntryPool makes entries and takes them back. What is taken back is used again once no reader can
// see it; chunks live as long as the pool.
//
// Thread-compatible: guarded by its shard's lock. Entries that were not given back are the owner's
// to destroy, before the pool is.
class EntryPool {
  public:
    // Before the first entry is made; `memory` must outlive the pool.
    void attach(MemoryAhead& memory) { memory_ = &memory; }
    ~EntryPool();

    template <class... Args>
    Entry& make(Args&&... args) {
        Place* const place = take();
        try {
            return *new (place) Entry(std::forward<Args>(args)...);
        } catch (...) {
            free_ = new (place) Place{.next_free = free_};
            throw;
        }
    }
    // `entry` was made and no reader has seen it.
    void unmake(Entry& entry) { reclaim(entry); }

    // `entry` has been unlinked. It is destroyed after the grace period. Its memory is lost to the
    // pool where there is none to remember it.
    void give_back(Entry& entry) noexcept;

  private:
    union alignas(alignof(Entry)) Place {
        std::byte bytes[sizeof(Entry)];
        Place* next_free;
    };
    struct Waiting {
        Entry* entry;
        std::uint64_t unlinked;  // the epoch in which it was
    };
    static constexpr std::size_t kChunk = MemoryAhead::kChunkBytes / sizeof(Place);
    static constexpr std::size_t kPatience = 32;  // entries that wait before the epoch is pushed on

    Place* take();
    void reclaim(Entry& entry);

    MemoryAhead* memory_ = nullptr;
    std::vector<std::unique_ptr<Place[]>> own_chunks_;  // where none was ready
    Place* newest_ = nullptr;
    std::size_t used_ = kChunk;  // of the newest chunk
    Place* free_ = nullptr;
    std::deque<Waiting> waiting_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_ENTRY_POOL_H_
