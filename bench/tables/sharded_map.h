// Candidate: Abseil's flat map, cut into shards with a lock each.
#ifndef SLUICE_BENCH_TABLES_SHARDED_MAP_H_
#define SLUICE_BENCH_TABLES_SHARDED_MAP_H_

#include <array>
#include <mutex>
#include <shared_mutex>

#include <absl/container/flat_hash_map.h>

#include "tables/candidate.h"

namespace sluice::bench {

// With std::shared_mutex, threads that find their key share the lock.
template <class Mutex>
class ShardedMap {
  public:
    using Thread = NoThread;

    explicit ShardedMap(std::size_t /*max_keys*/) {}

    void count(const Key& key) {
        const Hashed hashed{key, KeyHash()(key)};
        Shard& shard = shards_[hashed.hash >> kShardShift];
        if constexpr (requires { shard.mutex.lock_shared(); }) {
            const std::shared_lock lock(shard.mutex);
            const auto found = shard.counters.find(hashed);
            if (found != shard.counters.end()) return add_one(std::atomic_ref(found->second));
        }
        const std::lock_guard lock(shard.mutex);
        add_one(std::atomic_ref(shard.counters.try_emplace(hashed).first->second));
    }

  private:
    static constexpr int kShardShift = 64 - 6;

    // The key with its hash: hashed once, both for the shard and within it.
    struct Hashed {
        const Key& key;
        std::uint64_t hash;
        explicit operator Key() const { return key; }
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(const Key& key) const { return KeyHash()(key); }
        std::size_t operator()(const Hashed& hashed) const { return hashed.hash; }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const Key& a, const Key& b) const { return a == b; }
        bool operator()(const Key& a, const Hashed& b) const { return a == b.key; }
    };
    struct alignas(64) Shard {
        Mutex mutex;
        absl::flat_hash_map<Key, std::uint64_t, Hash, Equal> counters;  // guarded by the mutex
    };

    std::array<Shard, std::size_t{1} << (64 - kShardShift)> shards_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_SHARDED_MAP_H_
