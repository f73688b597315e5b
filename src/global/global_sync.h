// The exchange of counts between regions, as one node takes part in it.
#ifndef SLUICE_GLOBAL_GLOBAL_SYNC_H_
#define SLUICE_GLOBAL_GLOBAL_SYNC_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "counter/table.h"
#include "global/bus.h"
#include "global/bus_health.h"
#include "global/component_table.h"
#include "global/importer.h"
#include "global/policy.h"
#include "global/publish_queue.h"
#include "global/publisher.h"
#include "global/store.h"
#include "global/store_breaker.h"

namespace sluice {

// GlobalSync holds the components of all regions, the publisher, the importer and what they share.
// Each of the latter two is driven by one thread, which may be the same. Each has a breaker of its
// own, so that neither stops when the calls of the other fail.
//
// A stepped object: it has no thread, no socket and no clock of its own.
class GlobalSync {
  public:
    using Time = TickSchedule::Time;

    struct Config {
        std::string region;
        PublishPolicy policy = publish_adaptively;
        std::chrono::milliseconds interval = kGlobalInterval;
        std::size_t most_cells = 500'000;  // of all regions, that it keeps components of
        std::size_t least_regions = 2;     // that share the limits, whatever the store says
        std::uint64_t seed = 0;
        std::size_t import_page_rows = kImportPageRows;
        std::function<Time()> clock;
        // Called, on any thread, when the publisher may have to be called sooner.
        std::function<void()> urged = [] {};
        // Takes what is to be announced, on any thread; empty without a bus. Names are stored
        // names.
        std::function<void(const CellName&, Count)> announce = {};
    };

    // The table must outlive it.
    GlobalSync(Table& table, Config config, Time now);
    GlobalSync(const GlobalSync&) = delete;
    GlobalSync& operator=(const GlobalSync&) = delete;

    // Call when the regional count of `entry` may have grown. The caller holds the entry, or an
    // EpochPin. Thread-safe.
    void offer(Entry& entry) { publish_queue_.offer(entry); }

    // Offers all changed entries, on a node without an origin. With an origin, Region offers them
    // as it flushes the same changes. The table's only consumer of changes; for one thread at a
    // time.
    void offer_changes();

    // Merges a component that a publish, an import or the bus has brought, as it would be at
    // `wall`; without one, at the time of its cell. The counts of other regions are kept apart from
    // what this node has admitted (invariant 5). Thread-safe.
    struct Arrival {
        ComponentSource source;
        std::optional<UnixTime> wall;
    };
    void merge(const RegionRow& row, const Arrival& arrival);

    // Makes a call of the publisher, merges what it brings, and reports its outcome. For the
    // publishing thread. The second is for callers that make the call themselves.
    void make_call(const Publisher::Call& call, GlobalStore& store, std::optional<UnixTime> wall);
    void answered(const StoreResult<PublishEnd>& end, std::uint64_t connection, Time now);

    // Importer::next(). With each tick, components of cells that are dead are dropped.
    std::optional<ImportQuery> next_import(Time now, std::optional<UnixTime> wall);

    // Merges a message of the bus, of another region or of this one. What nodes of this region have
    // announced is not announced again; by invariant 12 it counts
    // neither as published nor as global. Both return whether the bus was silent before.
    // Thread-safe.
    bool receive(const BusMessage& message, std::optional<UnixTime> wall);
    bool receive_own(const BusMessage& message);

    // Announces everything again that still matters, for a bus that has become available.
    void announce_again();

    // Whether announcements get lost. Thread-safe.
    bool is_bus_silent(Time now) const { return bus_health_.is_silent(now); }

    Publisher& publisher() { return publisher_; }
    const Publisher& publisher() const { return publisher_; }
    Importer& importer() { return importer_; }
    const Importer& importer() const { return importer_; }
    const ComponentTable& components() const { return components_; }
    // How many regions share the limits, as far as this node knows.
    std::size_t regions() const { return regions_.load(std::memory_order_relaxed); }
    StoreBreaker& publish_breaker() { return publish_breaker_; }
    const StoreBreaker& publish_breaker() const { return publish_breaker_; }
    const StoreBreaker& import_breaker() const { return import_breaker_; }

  private:
    std::function<void(const CellName&, Count)> announcing(
        std::function<void(const CellName&, Count)> announce);
    void take_counts(Entry& entry);
    void set_regions(std::size_t regions);
    bool holds_long_key(const StoredKeyId& id, std::uint64_t table_hash);
    Entry* find_entry(const CellName& stored, const StoredKeyId& id);

    Table& table_;
    const std::size_t least_regions_;
    ComponentTable components_;
    PublishQueue::Regions regions_;
    BusHealth bus_health_;
    PublishQueue publish_queue_;
    StoreBreaker publish_breaker_{3 * kGlobalInterval};  // cleanup uses it, too
    // Imports are not retried before their next tick, so five of them take six intervals.
    StoreBreaker import_breaker_{6 * kGlobalInterval};
    Publisher publisher_;
    Importer importer_;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_GLOBAL_SYNC_H_
