// Candidates: the two concurrent maps of oneTBB.
#ifndef SLUICE_BENCH_TABLES_TBB_MAPS_H_
#define SLUICE_BENCH_TABLES_TBB_MAPS_H_

#include <tbb/concurrent_hash_map.h>
#include <tbb/concurrent_unordered_map.h>

#include "tables/candidate.h"

namespace sluice::bench {

// Locks per bucket and per element; finding takes both for reading.
class TbbHashMap {
  public:
    using Thread = NoThread;

    explicit TbbHashMap(std::size_t /*max_keys*/) {}

    void count(const Key& key) {
        Map::const_accessor found;
        if (!counters_.find(found, key)) counters_.insert(found, key);
        add_one(found->second.value);
    }

  private:
    // Mutable, because a shared lock is enough to count.
    struct Counter {
        mutable std::atomic<std::uint64_t> value{0};
    };
    struct HashCompare {
        std::size_t hash(const Key& key) const { return KeyHash()(key); }
        bool equal(const Key& a, const Key& b) const { return a == b; }
    };
    using Map = tbb::concurrent_hash_map<Key, Counter, HashCompare>;

    Map counters_;
};

// Lock-free split-ordered lists. Keys can't be removed while other threads work.
class TbbUnorderedMap {
  public:
    using Thread = NoThread;

    explicit TbbUnorderedMap(std::size_t /*max_keys*/) {}

    void count(const Key& key) {
        auto found = counters_.find(key);
        if (found == counters_.end()) found = counters_.emplace(key, 0U).first;
        add_one(found->second);
    }

  private:
    tbb::concurrent_unordered_map<Key, std::atomic<std::uint64_t>, KeyHash> counters_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_TBB_MAPS_H_
