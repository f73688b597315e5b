#include "tables/contestants.h"

#include "tables/hash_alone.h"
#include "tables/rcu_table.h"
#include "tables/sharded_map.h"
#include "tables/sluice_table.h"
#include "tables/split_list_map.h"
#include "tables/tbb_maps.h"
#include "tables/trial.h"

namespace sluice::bench {
namespace {

template <Candidate Table>
std::vector<double> measure_counts(const Sizes& sizes) {
    constexpr std::size_t kCheap = 5'000'000;
    constexpr std::size_t kDear = 1'500'000;
    [[maybe_unused]] const typename Table::Thread registered;
    Table one(16);
    Table few(2 * sizes.few);
    Table many(2 * sizes.many);
    return {
        time_counts(few, {.keys = sizes.few, .threads = 1, .counts_per_thread = kCheap}).cpu,
        time_counts(few, {.keys = sizes.few, .threads = 2, .counts_per_thread = kCheap}).real,
        time_counts(many, {.keys = sizes.many, .threads = 1, .counts_per_thread = kDear}).cpu,
        time_counts(many, {.keys = sizes.many, .threads = 2, .counts_per_thread = kDear}).real,
        time_counts(one, {.keys = 1, .threads = 2, .counts_per_thread = kCheap}).real,
    };
}

template <Candidate Table>
std::vector<double> measure(Trial trial, const Sizes& sizes) {
    switch (trial) {
        case Trial::kCount:
            return measure_counts<Table>(sizes);
        case Trial::kMemory:
            return {bytes_per_key<Table>(sizes.many)};
        case Trial::kGrowth:
            break;
    }
    const Tail tail = time_growth<Table>(sizes.growth);
    return {tail.slowest, tail.p9999};
}

}  // namespace

const std::vector<Contestant>& contestants() {
    static const std::vector<Contestant> all{
        {"no table: the hash alone", "", measure<HashAlone>},
        {"Sluice's own", "yes", measure<SluiceTable>},
        {"liburcu cds_lfht, membarrier, not growing", "yes", measure<RcuTable>},
        {"libcds SplitListMap, hazard pointers", "yes", measure<SplitListMap>},
        {"oneTBB concurrent_hash_map", "yes", measure<TbbHashMap>},
        {"oneTBB concurrent_unordered_map", "no", measure<TbbUnorderedMap>},
        {"absl::flat_hash_map, 64 x std::mutex", "yes", measure<ShardedMap<std::mutex>>},
        {"absl::flat_hash_map, 64 x std::shared_mutex",
         "yes",
         measure<ShardedMap<std::shared_mutex>>},
    };
    return all;
}

}  // namespace sluice::bench
