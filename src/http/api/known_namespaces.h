// The set of namespaces that requests to this node have used.
#ifndef SLUICE_HTTP_API_KNOWN_NAMESPACES_H_
#define SLUICE_HTTP_API_KNOWN_NAMESPACES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "overrides/store.h"

namespace sluice::http {

// A lock-free set that only grows: a hash table of 64-bit hashes with linear probing. It is seeded,
// so that no client can choose names that collide. listOverrides uses it to distinguish an unknown
// namespace (404) from one without overrides.
//
// At most kMaxNames are remembered, in 1 MiB. Once it is full, every namespace counts as known.
//
// Thread-safe.
class KnownNamespaces {
  public:
    static constexpr std::size_t kMaxNames = std::size_t{1} << 16;

    explicit KnownNamespaces(std::uint64_t seed) : hash_(seed), slots_(kSlots) {}

    // Allocates nothing. A known namespace costs one hash and one cache line.
    //
    // The loop ends, since half of the slots stay empty. A lost compare-and-swap loads the slot
    // again, which is then no longer empty.
    void add(const overrides::NamespaceKey& key) {
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

    bool contains(const overrides::NamespaceKey& key) const {
        if (size_.load(std::memory_order_relaxed) >= kMaxNames) return true;
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash % kSlots;; at = (at + 1) % kSlots) {
            const std::uint64_t held = slots_[at].load(std::memory_order_relaxed);
            if (held == hash) return true;
            if (held == 0) return false;
        }
    }

  private:
    static constexpr std::size_t kSlots = 2 * kMaxNames;

    // Never 0, which marks an empty slot.
    std::uint64_t hash_of(const overrides::NamespaceKey& key) const {
        return std::max<std::uint64_t>(overrides::hash_of(key, hash_), 1);
    }

    const KeyHash hash_;
    // A hash, or 0 for an empty slot. Written once each, by any thread, with a compare-and-swap;
    // read by any. Relaxed: a slot publishes nothing but itself.
    std::vector<std::atomic<std::uint64_t>> slots_;
    // Written and read by any thread, relaxed: threads that add at the same time may exceed
    // kMaxNames by their number, for which the table has room.
    std::atomic<std::size_t> size_{0};
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_KNOWN_NAMESPACES_H_
