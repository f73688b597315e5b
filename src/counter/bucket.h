// A hash bucket: one cache line of tagged pointers to entries.
#ifndef SLUICE_COUNTER_BUCKET_H_
#define SLUICE_COUNTER_BUCKET_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "counter/entry.h"
#include "counter/epoch.h"

namespace sluice {

// A bucket has seven slots and, for what doesn't fit, a chain of entries. A slot is an entry's
// address with 16 bits of its hash above it, so that a lookup goes to hardly any entry but its own.
// The hash also says in which pair of slots an entry is at home; nearly all are there. A lookup
// compares these two at once, and the processor has nothing to guess. The last pair is one slot and
// the head of the chain, an address without a tag: to be taken for a slot is harmless.
//
// A bucket of zeros is an empty bucket: fresh memory from the system needs no constructor.
//
// Thread-safe lookups without a lock; changes only under the shard's lock. A lookup that races with
// a change may miss an entry that moves, never find a wrong one; the table looks again under the
// lock before it believes a miss.
//
// Memory order: slots publish the content of their entries, and lookups must be ordered after the
// reader's epoch announcement. Sequential consistency gives both; see counter/epoch.h. A
// thread that looks up is pinned; each address is confirmed before it is followed.
class alignas(64) Bucket {
  public:
    [[gnu::always_inline]] Entry* find(const LimitKey& key) const {
        Entry* const entry = guess(key.hash());
        if (entry != nullptr && entry->has_key(key)) [[likely]]
            return entry;
        return find_elsewhere(key.hashed_request());
    }

    // The most probable result of find(), already being fetched from memory; or nullptr.
    [[gnu::always_inline]] Entry* guess(std::uint64_t hash) const {
        for (;;) {  // ends: repeats only after the epoch has moved on
            std::uint64_t below = candidate(hash);
            if (below >= kAddressMask) [[unlikely]]
                below = find_slot(hash);
            if (below >= kAddressMask) return nullptr;
            Entry* const entry = address_in(below + 1);
            // A decision needs two lines of an entry: fetched at once, they cost one miss.
            __builtin_prefetch(entry);
            __builtin_prefetch(entry->admitted_, 1);
            if (Epoch::confirm()) [[likely]]
                return entry;
        }
    }

    void insert(Entry& entry);
    bool insert_in_slot(const Entry& entry);  // false if all are taken
    bool has_in_slot(const Entry& entry) const;
    void remove(Entry& entry);

    // Calls visit(entry) for each entry; `visit` may remove it.
    template <class Visit>
    void for_each(Visit visit) {
        for (const auto& slot : slots()) {
            const std::uint64_t word = slot.load(std::memory_order_relaxed);
            if (word != 0) visit(*address_in(word));
        }
        Entry* entry = address_in(chain().load(std::memory_order_relaxed));
        while (entry != nullptr) {
            Entry* const next = entry->next_in_bucket_.load(std::memory_order_relaxed);
            visit(*entry);
            entry = next;
        }
    }

  private:
    static constexpr std::size_t kPlaces = 8;
    static constexpr int kAddressBits = 48;
    static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

    // Shard (counter/table.h), bucket (counter/shard.h), pair and tag are chosen by different bits
    // of the hash.
    static std::size_t home_of(std::uint64_t hash) { return (hash >> 36U & 3U) * 2; }
    static std::uint64_t tag_of(std::uint64_t hash) { return hash >> 43U << kAddressBits; }
    static Entry* address_in(std::uint64_t word) {
        return reinterpret_cast<Entry*>(word & kAddressMask);  // NOLINT(performance-no-int-to-ptr)
    }
    static std::uint64_t word_for(const Entry& entry);
    static std::uint64_t word_in_chain(const Entry* entry);

    // If the slot leads to an entry whose hash has the tag of `hash`: its address, less one, which
    // is below kAddressMask. Else a number that is not: a free slot is 0, and no address is.
    static std::uint64_t below_address(const std::atomic<std::uint64_t>& slot, std::uint64_t hash) {
        return (slot.load(std::memory_order_seq_cst) ^ tag_of(hash)) - 1;
    }

    // The same of the two slots where it most probably is: the smaller one is an address if any of
    // the two is.
    [[gnu::always_inline]] std::uint64_t candidate(std::uint64_t hash) const {
        const std::size_t home = home_of(hash);
        return std::min(below_address(places_[home], hash), below_address(places_[home + 1], hash));
    }

    // The same of all slots, or of the last one.
    std::uint64_t find_slot(std::uint64_t hash) const;

    // The slow path of a lookup. The second is false if the epoch has moved on; it is then
    // repeated.
    Entry* find_elsewhere(HashedRequest request) const;
    bool try_find_elsewhere(const LimitKey& key, Entry*& found) const;

    using Place = std::atomic<std::uint64_t>;
    std::span<Place, kPlaces - 1> slots() { return std::span(places_).first<kPlaces - 1>(); }
    std::span<const Place, kPlaces - 1> slots() const {
        return std::span(places_).first<kPlaces - 1>();
    }
    Place& chain() { return places_.back(); }
    const Place& chain() const { return places_.back(); }

    std::array<Place, kPlaces> places_;
};

static_assert(sizeof(Bucket) == 64);

}  // namespace sluice

#endif  // SLUICE_COUNTER_BUCKET_H_
