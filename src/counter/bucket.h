// One line of the cache that leads to the entries of nearby hashes.
#ifndef SLUICE_COUNTER_BUCKET_H_
#define SLUICE_COUNTER_BUCKET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "counter/entry.h"

namespace sluice {

// A bucket has seven slots and, for what doesn't fit, a chain of entries. A slot is an entry's address with 16 bits
// of its hash above it, so that a lookup goes to hardly any entry but its own.
//
// A bucket of zeros is an empty bucket: fresh memory from the system needs no constructor.
//
// Thread-safe lookups without a lock; changes only under the shard's lock. A lookup that races with a change may miss
// an entry that moves, never find a wrong one; the table looks again under the lock before it believes a miss.
//
// Memory order: stores of an entry's address publish the entry's content, and lookups of it must be ordered after the
// reader's epoch announcement; sequential consistency gives both (see counter/epoch.h).
class alignas(64) Bucket {
  public:
    [[gnu::always_inline]] Entry* find(const LimitKey& key) const {
        const std::uint64_t tag = tag_of(key.hash());
        for (const auto& slot : slots_) {
            const std::uint64_t word = slot.load(std::memory_order_seq_cst);
            if ((word ^ tag) >> kAddressBits != 0 || word == 0) continue;
            Entry* const entry = address_in(word);
            __builtin_prefetch(entry);
            __builtin_prefetch(entry->admitted_);
            if (entry->has_key(key)) [[likely]] return entry;
        }
        Entry* entry = overflow_.load(std::memory_order_seq_cst);
        while (entry != nullptr && (entry->hash() != key.hash() || !entry->has_key(key))) {
            entry = entry->next_in_bucket_.load(std::memory_order_seq_cst);
        }
        return entry;
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
        Entry* entry = overflow_.load(std::memory_order_relaxed);
        while (entry != nullptr) {
            Entry* const next = entry->next_in_bucket_.load(std::memory_order_relaxed);
            visit(*entry);
            entry = next;
        }
    }

  private:
    static constexpr int kAddressBits = 48;
    static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

    // Bits that neither the shard nor the bucket is chosen by.
    static std::uint64_t tag_of(std::uint64_t hash) { return (hash >> 40) << kAddressBits; }
    static Entry* address_in(std::uint64_t word) {
        return reinterpret_cast<Entry*>(word & kAddressMask);  // NOLINT(performance-no-int-to-ptr)
    }
    static std::uint64_t word_for(const Entry& entry);

    std::array<std::atomic<std::uint64_t>, 7> slots_;
    std::atomic<Entry*> overflow_;
};

static_assert(sizeof(Bucket) == 64);

}  // namespace sluice

#endif  // SLUICE_COUNTER_BUCKET_H_
