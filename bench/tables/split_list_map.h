// Candidate: the split-ordered list of libcds, with hazard pointers.
#ifndef SLUICE_BENCH_TABLES_SPLIT_LIST_MAP_H_
#define SLUICE_BENCH_TABLES_SPLIT_LIST_MAP_H_

#include <memory>

#include "tables/candidate.h"

namespace sluice::bench {

// The number of buckets that it grows to is fixed by `max_keys`. Every thread must attach itself.
class SplitListMap {
  public:
    class Thread {
      public:
        Thread();
        ~Thread();
        Thread(const Thread&) = delete;
        Thread& operator=(const Thread&) = delete;
    };

    explicit SplitListMap(std::size_t max_keys);
    ~SplitListMap();
    SplitListMap(const SplitListMap&) = delete;
    SplitListMap& operator=(const SplitListMap&) = delete;

    void count(const Key& key);

  private:
    struct Map;
    std::unique_ptr<Map> map_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TABLES_SPLIT_LIST_MAP_H_
