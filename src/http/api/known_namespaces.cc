#include "http/api/known_namespaces.h"

#include <algorithm>

namespace sluice::http {

// 0 stands for an empty slot.
std::uint64_t KnownNamespaces::hash_of(const overrides::NamespaceKey& key) const {
    return std::max<std::uint64_t>(overrides::hash_of(key, hash_), 1);
}

// Ends: half of the slots stay empty. After a lost race the same slot is read again; it is not
// empty any more.
void KnownNamespaces::add(const overrides::NamespaceKey& key) {
    const std::uint64_t hash = hash_of(key);
    for (std::size_t at = hash % kSlots;; at = (at + 1) % kSlots) {
        std::uint64_t held = slots_[at].load(std::memory_order_relaxed);
        if (held == hash) return;
        if (held != 0) continue;
        if (size_.load(std::memory_order_relaxed) >= kMaxNames) return;
        if (slots_[at].compare_exchange_strong(held, hash, std::memory_order_relaxed)) {
            size_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (held == hash) return;
    }
}

bool KnownNamespaces::contains(const overrides::NamespaceKey& key) const {
    if (size_.load(std::memory_order_relaxed) >= kMaxNames) return true;
    const std::uint64_t hash = hash_of(key);
    for (std::size_t at = hash % kSlots;; at = (at + 1) % kSlots) {
        const std::uint64_t held = slots_[at].load(std::memory_order_relaxed);
        if (held == hash) return true;
        if (held == 0) return false;
    }
}

}  // namespace sluice::http
