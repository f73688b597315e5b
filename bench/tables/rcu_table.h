// Candidate: the lock-free hash table of liburcu.
#ifndef SLUICE_BENCH_TABLES_RCU_TABLE_H_
#define SLUICE_BENCH_TABLES_RCU_TABLE_H_

#include "tables/candidate.h"

struct cds_lfht;

namespace sluice::bench {

// Readers are protected by RCU of the membarrier flavour; a thread of the library's own resizes the
// table in the background. Every thread must register before its first call.
class RcuTable {
  public:
    class Thread {
      public:
        Thread();
        ~Thread();
        Thread(const Thread&) = delete;
        Thread& operator=(const Thread&) = delete;
    };

    explicit RcuTable(std::size_t max_keys);
    ~RcuTable();
    RcuTable(const RcuTable&) = delete;
    RcuTable& operator=(const RcuTable&) = delete;

    void count(const Key& key);

  private:
    cds_lfht* table_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_RCU_TABLE_H_
