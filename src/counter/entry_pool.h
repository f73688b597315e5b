// An allocator of entries, in chunks.
#ifndef SLUICE_COUNTER_ENTRY_POOL_H_
#define SLUICE_COUNTER_ENTRY_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "counter/entry.h"
#include "counter/epoch.h"
#include "counter/page_provisioner.h"

namespace sluice {

// EntryPool makes entries and takes them back. What is taken back is used again once no reader can
// see it; chunks live as long as the pool.
//
// Thread-compatible: guarded by its shard's lock. Entries that were not given back are the owner's
// to destroy, before the pool is.
class EntryPool {
  public:
    // Before the first entry is made; `memory` must outlive the pool.
    void attach(PageProvisioner& memory) { memory_ = &memory; }
    ~EntryPool();

    template <class... Args>
    Entry& make(Args&&... args) {
        Place* const place = take();
        try {
            Entry& entry = *new (place) Entry(std::forward<Args>(args)...);
            born(entry) = Epoch::now();
            return entry;
        } catch (...) {
            free_ = new (place) Place{.next_free = free_};
            throw;
        }
    }
    // `entry` was made and no reader has seen it.
    void unmake(Entry& entry) { reclaim(entry); }

    // From when `entry` was made to now: to be called when no lookup can find it any more.
    static Epoch::Lifetime lifetime(Entry& entry) {
        return {.born = born(entry), .unlinked = Epoch::now()};
    }

    // `entry` has been unlinked. It is destroyed when no reader can see it. Its memory is lost to
    // the pool where there is none to remember it.
    void give_back(Entry& entry) noexcept;

    struct Stats {
        std::size_t allocated;   // entries that there is memory for, but for the end of a chunk
        std::uint64_t examined;  // how often it was checked whether an entry can be used again
    };
    Stats stats() const { return {.allocated = allocated_, .examined = waiting_.examined()}; }

  private:
    union alignas(alignof(Entry)) Place {
        std::byte bytes[sizeof(Entry)];
        Place* next_free;
    };
    // Begins with the epochs in which its entries were made: an entry itself has no room for that.
    // It lies on a multiple of its size, so that an entry leads to it.
    struct alignas(PageProvisioner::kChunkBytes) Chunk {
        static constexpr std::size_t kPlaces = 248;
        std::uint64_t born[8 * sizeof(Entry) / sizeof(std::uint64_t)];
        Place places[kPlaces];
    };
    static_assert(sizeof(Chunk) == PageProvisioner::kChunkBytes);
    static_assert(sizeof(Chunk::born) >= Chunk::kPlaces * sizeof(std::uint64_t));
    // Entries that may wait before readers are looked at.
    static constexpr std::size_t kMostWaiting = 32;

    static std::uint64_t& born(Entry& entry) {
        const auto address = reinterpret_cast<std::uintptr_t>(&entry);
        auto* const chunk =  // NOLINTNEXTLINE(performance-no-int-to-ptr)
            reinterpret_cast<Chunk*>(address / sizeof(Chunk) * sizeof(Chunk));
        return chunk->born[reinterpret_cast<Place*>(&entry) - chunk->places];
    }

    Place* take();
    void reclaim(Entry& entry);

    PageProvisioner* memory_ = nullptr;
    std::vector<std::unique_ptr<Chunk>> own_chunks_;  // where none was ready
    Chunk* newest_ = nullptr;
    std::size_t used_ = Chunk::kPlaces;  // of the newest chunk
    std::size_t allocated_ = 0;
    Place* free_ = nullptr;
    GraceQueue waiting_;
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_ENTRY_POOL_H_
