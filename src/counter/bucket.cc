#include "counter/bucket.h"

#include <algorithm>

#include "base/check.h"

namespace sluice {

std::uint64_t Bucket::word_for(const Entry& entry) {
    const auto address = reinterpret_cast<std::uintptr_t>(&entry);
    SLUICE_CHECK((address & ~kAddressMask) == 0);
    return tag_of(entry.hash()) | address;
}

bool Bucket::insert_in_slot(const Entry& entry) {
    for (auto& slot : slots_) {
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
    entry.next_in_bucket_.store(overflow_.load(std::memory_order_relaxed), std::memory_order_seq_cst);
    overflow_.store(&entry, std::memory_order_seq_cst);
}

// A removed entry keeps its own link: a lookup that stands on it finds its way out.
void Bucket::remove(Entry& entry) {
    const std::uint64_t word = word_for(entry);
    for (auto& slot : slots_) {
        if (slot.load(std::memory_order_relaxed) != word) continue;
        slot.store(0, std::memory_order_seq_cst);
        return;
    }
    std::atomic<Entry*>* link = &overflow_;
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
