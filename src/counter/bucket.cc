#include "counter/bucket.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

std::uint64_t Bucket::word_for(const Entry& entry) {
    const auto address = reinterpret_cast<std::uintptr_t>(&entry);
    SLUICE_CHECK((address & ~kAddressMask) == 0);
    return tag_of(entry.hash()) | address;
}

std::uint64_t Bucket::word_in_chain(const Entry* entry) {
    return reinterpret_cast<std::uintptr_t>(entry);
}

std::uint64_t Bucket::find_slot(std::uint64_t hash) const {
    std::uint64_t least = kAddressMask;
    for (const auto& slot : slots())
        least = std::min(least, below_address(slot, hash));
    return least;
}

Entry* Bucket::find_elsewhere(HashedRequest request) const {
    const LimitKey key(request);
    Entry* found = nullptr;
    while (!try_find_elsewhere(key, found)) {  // ends: repeats only after the epoch has moved on
    }
    return found;
}

bool Bucket::try_find_elsewhere(const LimitKey& key, Entry*& found) const {
    const std::uint64_t hash = key.hash();
    for (const auto& slot : slots()) {
        const std::uint64_t below = below_address(slot, hash);
        if (below >= kAddressMask) continue;
        found = address_in(below + 1);
        if (!Epoch::confirm()) return false;
        if (found->has_key(key)) return true;
    }
    found = address_in(chain().load(std::memory_order_seq_cst));
    while (found != nullptr) {
        // An entry that was removed leads to one that may have been removed later, and even used
        // again if it was made after this thread's interval: then this fails.
        if (!Epoch::confirm()) return false;
        if (found->hash() == hash && found->has_key(key)) return true;
        found = found->next_in_bucket_.load(std::memory_order_seq_cst);
    }
    return true;
}

bool Bucket::insert_in_slot(const Entry& entry) {
    const std::size_t home = home_of(entry.hash());
    for (std::size_t i = 0; i < kPlaces; ++i) {
        auto& slot = places_[(home + i) % kPlaces];
        if (&slot == &chain()) continue;
        if (slot.load(std::memory_order_relaxed) != 0) continue;
        slot.store(word_for(entry), std::memory_order_seq_cst);
        return true;
    }
    return false;
}

bool Bucket::has_in_slot(const Entry& entry) const {
    return std::ranges::any_of(slots(), [word = word_for(entry)](const auto& slot) {
        return slot.load(std::memory_order_relaxed) == word;
    });
}

void Bucket::insert(Entry& entry) {
    if (insert_in_slot(entry)) return;
    entry.next_in_bucket_.store(address_in(chain().load(std::memory_order_relaxed)),
                                std::memory_order_seq_cst);
    chain().store(word_in_chain(&entry), std::memory_order_seq_cst);
}

// A removed entry keeps its own link: a lookup that stands on it finds its way out.
void Bucket::remove(Entry& entry) {
    for (auto& slot : slots()) {
        if (slot.load(std::memory_order_relaxed) != word_for(entry)) continue;
        slot.store(0, std::memory_order_seq_cst);
        return;
    }
    Entry* const next = entry.next_in_bucket_.load(std::memory_order_relaxed);
    Entry* linked = address_in(chain().load(std::memory_order_relaxed));
    if (linked == &entry) return chain().store(word_in_chain(next), std::memory_order_seq_cst);
    while (linked != nullptr) {
        Entry* const behind = linked->next_in_bucket_.load(std::memory_order_relaxed);
        if (behind == &entry) return linked->next_in_bucket_.store(next, std::memory_order_seq_cst);
        linked = behind;
    }
}

}  // namespace sluice
