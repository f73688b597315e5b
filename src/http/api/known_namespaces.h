// The namespaces that requests to this node have named.
#ifndef SLUICE_HTTP_API_KNOWN_NAMESPACES_H_
#define SLUICE_HTTP_API_KNOWN_NAMESPACES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "overrides/override.h"

namespace sluice::http {

// KnownNamespaces is a lock-free set that only grows: a hash table of 64-bit hashes with linear
// probing. It is seeded, so that no client can choose names that collide.
//
// At most kMaxNames are remembered, in 1 MiB. From then on every namespace counts as known.
//
// Thread-safe.
class KnownNamespaces {
  public:
    static constexpr std::size_t kMaxNames = std::size_t{1} << 16;

    explicit KnownNamespaces(std::uint64_t seed) : hash_(seed), slots_(kSlots) {}

    // Allocates nothing. One hash and one cache line for a namespace that is known.
    void add(const overrides::NamespaceKey& key);
    bool contains(const overrides::NamespaceKey& key) const;

  private:
    static constexpr std::size_t kSlots = 2 * kMaxNames;

    std::uint64_t hash_of(const overrides::NamespaceKey& key) const;

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
