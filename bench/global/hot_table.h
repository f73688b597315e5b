// A table with many keys, some of which are worth publishing.
#ifndef SLUICE_BENCH_GLOBAL_HOT_TABLE_H_
#define SLUICE_BENCH_GLOBAL_HOT_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counter/table.h"
#include "global/global_sync.h"
#include "global/store.h"

namespace sluice::bench {

// The only node of a region. Its keys have windows of an hour.
class HotTable {
  public:
    explicit HotTable(std::size_t max_keys);

    // Spends at each of the keys `first` to `first + count - 1`; by far most of the limit, or next
    // to nothing.
    enum class Use { kHot, kCold };
    void spend(std::uint32_t first, std::uint32_t count, Use use);
    // One warm decision.
    void decide(std::uint32_t key);

    // Offers what changed, as a node does once a second.
    void offer() { global_sync_.offer_changes(); }
    // Publishes all that was offered, and returns how many rows that were.
    std::size_t tick(GlobalStore& store);

    GlobalSync& global_sync() { return global_sync_; }

    static std::string identifier(std::uint32_t key);

  private:
    const std::unique_ptr<Table> table_;
    GlobalSync global_sync_;
    std::vector<std::string> identifiers_;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_GLOBAL_HOT_TABLE_H_
