#include "counter/bucket.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

std::uint64_t Bucket::word_for(const Entry& entry) {
    const auto address = reinterpret_cast<std::uintptr_t>(&entry);
    SLUICE_CHECK((address & ~kAddressMask) == 0);
    return tag_of(entry.hash()) | address;
}

Entry* Bucket::find_elsewhere(HashedRequest request) const {
    const LimitKey key(request);
    const std::uint64_t hash = key.hash();
    for (const auto& slot : slots_) {
        const std::uint64_t below = below_address(slot, hash);
        if (below < kAddressMask && address_in(below + 1)->has_key(key))
            return address_in(below + 1);
    }
    Entry* entry = chain_.load(std::memory_order_seq_cst);
    while (entry != nullptr && (entry->hash() != key.hash() || !entry->has_key(key))) {
        entry = entry->next_in_bucket_.load(std::memory_order_seq_cst);
    }
    return entry;
}

bool Bucket::insert_in_slot(const Entry& entry) {
    const std::size_t home = home_of(entry.hash());
    for (std::size_t i = 0; i < kSlots; ++i) {
        auto& slot = slots_[(home + i) % kSlots];
        if (slot.load(std::memory_order_relaxed) != 0) continue;
        slot.store(word_for(entry), std::memory_order_seq_cst);
        return true;
    }
    return false;
}

bool Bucket::has_in_slot(const Entry& entry) const {
    return std::ranges::any_of(slots_, [word = word_for(entry)](const auto& slot) {
        return slot.load(std::memory_order_relaxed) == word;
    });
}

void Bucket::insert(Entry& entry) {
    if (insert_in_slot(entry)) return;
    entry.next_in_bucket_.store(chain_.load(std::memory_order_relaxed), std::memory_order_seq_cst);
    chain_.store(&entry, std::memory_order_seq_cst);
}

// A removed entry keeps its own link: a lookup that stands on it finds its way out.
void Bucket::remove(Entry& entry) {
    for (auto& slot : slots_) {
        if (slot.load(std::memory_order_relaxed) != word_for(entry)) continue;
        slot.store(0, std::memory_order_seq_cst);
        return;
    }
    std::atomic<Entry*>* link = &chain_;
    while (Entry* const linked = link->load(std::memory_order_relaxed)) {
        if (linked == &entry) {
            link->store(entry.next_in_bucket_.load(std::memory_order_relaxed),
                        std::memory_order_seq_cst);
            return;
        }
        link = &linked->next_in_bucket_;
    }
}

}  // namespace sluice
