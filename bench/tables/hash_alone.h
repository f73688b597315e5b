// Yardstick: what the hash costs, and what the machine alone adds to the slowest of many steps.
#ifndef SLUICE_BENCH_TABLES_HASH_ALONE_H_
#define SLUICE_BENCH_TABLES_HASH_ALONE_H_

#include "tables/candidate.h"

namespace sluice::bench {

class HashAlone {
  public:
    using Thread = NoThread;

    explicit HashAlone(std::size_t /*max_keys*/) {}

    void count(const Key& key) {
        // Keeps the compiler from removing the hash.
        asm volatile("" : : "r"(hash_of(key.bytes())));
    }
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_HASH_ALONE_H_
