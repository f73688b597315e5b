// One line of the cache that leads to the entries of nearby hashes.
#ifndef SLUICE_COUNTER_BUCKET_H_
#define SLUICE_COUNTER_BUCKET_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "counter/entry.h"

namespace sluice {

// A bucket has seven slots and, for what doesn't fit, a chain of entries. A slot is an entry's
// address with 16 bits of its hash above it, so that a lookup goes to hardly any entry but its own.
// The hash also says in which slot to look first, and most entries are there: the processor
// foresees that, and has the entry's address after one load.
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
        const std::uint64_t word = slots_[home_of(key.hash())].load(std::memory_order_seq_cst);
        if (is_of(word, key.hash())) [[likely]] {
            Entry* const entry = address_in(word);
            // A decision reads three lines of the entry: fetched at once, they cost one miss.
            __builtin_prefetch(entry);
            __builtin_prefetch(entry->admitted_, 1);
            __builtin_prefetch(&entry->texts_);
            if (entry->has_key(key)) [[likely]]
                return entry;
        }
        return find_elsewhere(key.request(), key.hash());
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

    // Shard, bucket, slot and tag are chosen by different bits of the hash.
    static std::size_t home_of(std::uint64_t hash) {
        const std::size_t home = hash >> 57U & 7U;
        return home < kSlots ? home : 0;
    }
    static std::uint64_t tag_of(std::uint64_t hash) { return hash >> 40U << kAddressBits; }
    static Entry* address_in(std::uint64_t word) {
        return reinterpret_cast<Entry*>(word & kAddressMask);  // NOLINT(performance-no-int-to-ptr)
    }
    static std::uint64_t word_for(const Entry& entry);

    // Whether `word` leads to an entry whose hash has the tag of `hash`. A free slot is 0, and no
    // address is.
    static bool is_of(std::uint64_t word, std::uint64_t hash) {
        const std::uint64_t address = word ^ tag_of(hash);
        return address - 1 < kAddressMask;
    }

    // The rest of a lookup. Given the request, not the key: copying that would cost more than
    // making it again.
    Entry* find_elsewhere(const Request& request, std::uint64_t hash) const;

    std::array<std::atomic<std::uint64_t>, kSlots> slots_;
    std::atomic<Entry*> chain_;
};

static_assert(sizeof(Bucket) == 64);

}  // namespace sluice

#endif  // SLUICE_COUNTER_BUCKET_H_
