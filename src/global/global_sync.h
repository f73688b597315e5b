// The exchange of counts between regions, as one node takes part in it: publisher and importer.
#ifndef SLUICE_GLOBAL_GLOBAL_SYNC_H_
#define SLUICE_GLOBAL_GLOBAL_SYNC_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "counter/table.h"
#include "global/hashed_name_cells.h"
#include "global/importer.h"
#include "global/policy.h"
#include "global/publish_queue.h"
#include "global/publisher.h"
#include "global/store_breaker.h"

namespace sluice {

// GlobalSync holds the publisher, the importer and what they share. Each of the two is driven by
// one thread, which may be the same. Each has a breaker of its own, so that neither stops when the
// calls of the other fail.
//
// A stepped object: it has no thread, no socket and no clock. offer() is thread-safe.
class GlobalSync {
  public:
    using Time = TickSchedule::Time;

    struct Config {
        PublishPolicy policy = publish_from_half;
        std::chrono::milliseconds interval = kGlobalInterval;
        std::size_t most_hashed_name_cells = 500'000;  // that wait for their keys
        std::uint64_t seed = 0;
        std::size_t import_page_rows = kImportPageRows;
    };

    // The table must outlive it.
    GlobalSync(Table& table, const Config& config, Time now);
    GlobalSync(const GlobalSync&) = delete;
    GlobalSync& operator=(const GlobalSync&) = delete;

    // Call when the regional count of `entry` may have grown. The caller holds the entry, or an
    // EpochPin.
    void offer(Entry& entry);

    // Offers all changed entries, on a node without an origin. With an origin, Region offers them
    // as it flushes the same changes. The table's only consumer of changes; for one thread at a
    // time.
    void offer_changes();

    Publisher& publisher() { return publisher_; }
    const Publisher& publisher() const { return publisher_; }
    Importer& importer() { return importer_; }
    const Importer& importer() const { return importer_; }
    const HashedNameCells& hashed_name_cells() const { return hashed_name_cells_; }
    StoreBreaker& publish_breaker() { return publish_breaker_; }
    const StoreBreaker& publish_breaker() const { return publish_breaker_; }
    const StoreBreaker& import_breaker() const { return import_breaker_; }

  private:
    Table& table_;
    PublishQueue publish_queue_;
    HashedNameCells hashed_name_cells_;
    StoreBreaker publish_breaker_{3 * kGlobalInterval};  // cleanup uses it, too
    // Imports are not retried before their next tick, so five of them take six intervals.
    StoreBreaker import_breaker_{6 * kGlobalInterval};
    Publisher publisher_;
    Importer importer_;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_GLOBAL_SYNC_H_
