// One line of the cache that leads to the entries of nearby hashes.
#ifndef SLUICE_COUNTER_BUCKET_H_
#define SLUICE_COUNTER_BUCKET_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "counter/entry.h"

namespace sluice {

// A bucket has seven slots and, for what doesn't fit, a chain of entries. A slot is an entry's
// address with 16 bits of its hash above it, so that a lookup goes to hardly any entry but its own.
// The hash also says in which slot an entry is at home; nearly all are there or in the one behind
// it. A lookup compares these two at once, and the processor has nothing to guess.
//
// A bucket of zeros is an empty bucket: fresh memory from the system needs no constructor.
//
// Thread-safe lookups without a lock; changes only under the shard's lock. A lookup that races with
// a change may miss an entry that moves, never find a wrong one; the table looks again under the
// lock before it believes a miss.
//
// Memory order: slots publish the content of their entries, and lookups must be ordered after the
// reader's epoch announcement. Sequential consistency gives both; see counter/epoch.h.
class alignas(64) Bucket {
  public:
    [[gnu::always_inline]] Entry* find(const LimitKey& key) const {
        const std::size_t home = home_of(key.hash());
        // The smaller one is an address if any of the two is.
        const std::uint64_t below = std::min(below_address(slots_[home], key.hash()),
                                             below_address(slots_[home + 1], key.hash()));
        if (below < kAddressMask) [[likely]] {
            Entry* const entry = address_in(below + 1);
            // A decision needs two lines of the entry: fetched at once, they cost one miss.
            __builtin_prefetch(entry);
            __builtin_prefetch(entry->admitted_, 1);
            if (entry->has_key(key)) [[likely]]
                return entry;
        }
        return find_elsewhere(key.hashed_request());
    }

    void insert(Entry& entry);
    bool insert_in_slot(const Entry& entry);  // false if all are taken
    bool has_in_slot(const Entry& entry) const;
    void remove(Entry& entry);

    // Calls visit(entry) for each entry; `visit` may remove it.
    template <class Visit>
    void for_each(Visit visit) {
        for (const auto& slot : slots_) {
            const std::uint64_t word = slot.load(std::memory_order_relaxed);
            if (word != 0) visit(*address_in(word));
        }
        Entry* entry = chain_.load(std::memory_order_relaxed);
        while (entry != nullptr) {
            Entry* const next = entry->next_in_bucket_.load(std::memory_order_relaxed);
            visit(*entry);
            entry = next;
        }
    }

  private:
    static constexpr std::size_t kSlots = 7;
    static constexpr int kAddressBits = 48;
    static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

    // Shard, bucket, slot and tag are chosen by different bits of the hash. The last slot is
    // nobody's home, only the one behind it.
    static std::size_t home_of(std::uint64_t hash) {
        return (hash >> 33U & 0x7FU) * (kSlots - 1) >> 7U;  // seven bits, spread evenly
    }
    static std::uint64_t tag_of(std::uint64_t hash) { return hash >> 40U << kAddressBits; }
    static Entry* address_in(std::uint64_t word) {
        return reinterpret_cast<Entry*>(word & kAddressMask);  // NOLINT(performance-no-int-to-ptr)
    }
    static std::uint64_t word_for(const Entry& entry);

    // If the slot leads to an entry whose hash has the tag of `hash`: its address, less one, which
    // is below kAddressMask. Else a number that is not: a free slot is 0, and no address is.
    static std::uint64_t below_address(const std::atomic<std::uint64_t>& slot, std::uint64_t hash) {
        return (slot.load(std::memory_order_seq_cst) ^ tag_of(hash)) - 1;
    }

    // The rest of a lookup.
    Entry* find_elsewhere(HashedRequest request) const;

    std::array<std::atomic<std::uint64_t>, kSlots> slots_;
    std::atomic<Entry*> chain_;
};

static_assert(sizeof(Bucket) == 64);

}  // namespace sluice

#endif  // SLUICE_COUNTER_BUCKET_H_
