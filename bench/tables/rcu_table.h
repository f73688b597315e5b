// Candidate: the lock-free hash table of liburcu.
#ifndef SLUICE_BENCH_TABLES_RCU_TABLE_H_
#define SLUICE_BENCH_TABLES_RCU_TABLE_H_

#include "tables/candidate.h"

struct cds_lfht;

namespace sluice::bench {

// Readers are protected by RCU of the membarrier flavour. Every thread must register before its
// first call. The table has its final size from the start; see the source for why.
class RcuTable {
  public:
    class Thread {
      public:
        Thread();
        ~Thread();
        Thread(const Thread&) = delete;
        Thread& operator=(const Thread&) = delete;
    };

    // The table is never freed: the process ends with the measurement.
    explicit RcuTable(std::size_t max_keys);
    RcuTable(const RcuTable&) = delete;
    RcuTable& operator=(const RcuTable&) = delete;

    void count(const Key& key);

  private:
    cds_lfht* table_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_RCU_TABLE_H_
