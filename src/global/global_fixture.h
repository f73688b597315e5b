// A node with its global_sync, and a store, for tests: time stands still until it is moved.
#ifndef SLUICE_GLOBAL_GLOBAL_FIXTURE_H_
#define SLUICE_GLOBAL_GLOBAL_FIXTURE_H_

#include <sluice/limiter.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counter/epoch.h"
#include "counter/table.h"
#include "global/global_sync.h"
#include "global/memory_store.h"
#include "global/store.h"

namespace sluice {

// A store that records its calls, and fails as often as the test says.
class FickleStore final : public GlobalStore {
  public:
    explicit FickleStore(std::unique_ptr<GlobalStore> store) : store_(std::move(store)) {}

    std::deque<StoreFailure::Kind> failures;          // of the next calls, one each
    std::deque<StoreFailure::Kind> read_failures;     // of the next reads, likewise
    std::vector<std::vector<RegionCount>> published;  // what succeeded
    std::vector<ImportQuery> imports;
    std::size_t round_trips = 0;  // publishes without rows that succeeded
    std::size_t reads = 0;
    std::optional<std::uint64_t> connection;          // shown instead of the store's own
    std::function<bool(const RegionCount&)> refuses;  // all chunks with such a row
    std::function<bool(const RegionCount&)> locked;   // all chunks with such a row are kBusy
    std::size_t most_page_rows = SIZE_MAX;  // a larger page takes longer than its caller waits

    StoreResult<PublishEnd> publish(std::span<const RegionCount> rows,
                                    const Visit& visit) override {
        if (auto failure = next_failure()) return *failure;
        if (refuses && std::ranges::any_of(rows, refuses))
            return StoreFailure{.kind = StoreFailure::Kind::kRows, .why = "scripted"};
        if (locked && std::ranges::any_of(rows, locked))
            return StoreFailure{.kind = StoreFailure::Kind::kBusy, .why = "scripted"};
        if (rows.empty()) {
            ++round_trips;
        } else {
            published.emplace_back(rows.begin(), rows.end());
        }
        return store_->publish(rows, visit);
    }
    StoreResult<PublishEnd> read(std::span<const RegionCount> rows, const Visit& visit) override {
        ++reads;
        if (!read_failures.empty()) {
            const StoreFailure::Kind kind = read_failures.front();
            read_failures.pop_front();
            return StoreFailure{.kind = kind, .why = "scripted"};
        }
        return store_->read(rows, visit);
    }
    std::uint64_t connections() const override {
        return connection.value_or(store_->connections());
    }
    StoreResult<ImportEnd> import(const ImportQuery& query, const Visit& visit) override {
        imports.push_back(query);
        if (auto failure = next_failure()) return *failure;
        if (query.page_rows > most_page_rows)
            return StoreFailure{.kind = StoreFailure::Kind::kLost, .why = "it took too long"};
        return store_->import(query, visit);
    }
    StoreResult<std::size_t> delete_expired(std::chrono::milliseconds min_age,
                                            std::size_t at_most) override {
        return store_->delete_expired(min_age, at_most);
    }
    StoreResult<std::vector<GlobalListing>> list(std::span<const CellName> cells) override {
        return store_->list(cells);
    }
    void interrupt() override { store_->interrupt(); }

    std::size_t rows() const {
        std::size_t sum = 0;
        for (const auto& chunk : published)
            sum += chunk.size();
        return sum;
    }

  private:
    std::optional<StoreFailure> next_failure() {
        if (failures.empty()) return std::nullopt;
        const StoreFailure::Kind kind = failures.front();
        failures.pop_front();
        return StoreFailure{.kind = kind, .why = "scripted"};
    }

    const std::unique_ptr<GlobalStore> store_;
};

// A node of a region, without an origin.
class GlobalNode {
  public:
    using Time = TickSchedule::Time;

    // `clock` is the time of all nodes.
    struct Clock {
        Time now{std::chrono::seconds{1'000}};
        UnixTime wall{std::chrono::seconds{1'700'000'040}};  // a multiple of 60 s
        void advance(std::chrono::milliseconds by) {
            now += by;
            wall += by;
        }
    };

    struct Options {
        std::size_t import_page_rows = kImportPageRows;
        std::size_t least_regions = 2;
        std::size_t most_cells = 500'000;
    };

    GlobalNode(Clock& clock, const std::shared_ptr<MemoryWorld>& world, const std::string& region)
        : GlobalNode(clock, world, region, Options{}) {}
    GlobalNode(Clock& clock,
               const std::shared_ptr<MemoryWorld>& world,
               const std::string& region,
               const Options& options)
        : clock_(clock),
          table_(*Table::create({.max_keys = 10'000, .sharing = Sharing::kSole, .seed = 1})),
          store(world->join(region)),
          global_sync(*table_,
                      {.region = region,
                       .most_cells = options.most_cells,
                       .least_regions = options.least_regions,
                       .seed = std::hash<std::string>{}(region),
                       .import_page_rows = options.import_page_rows,
                       .clock = [this] { return clock_.now; }},
                      clock.now) {
        // The early ticks, which count the regions; tests begin after them.
        tick();
        store.round_trips = 0;
    }

    // What a request of that cost leaves behind if it passes.
    void spend(const std::string& identifier, Count cost, Count limit = 10) {
        Instant at;
        const EpochPin pin;
        const Request request = request_for(identifier);
        Entry& entry = table_->entry_for(table_->key(request), clock_.wall, at);
        entry.note_use(limit, clock_.wall);
        entry.admitted(at.sequence).add(at.sequence, cost);
        table_->settle(entry, at.sequence, cost, request);
    }

    Entry* find(const std::string& identifier) {
        const Request request = request_for(identifier);
        return table_->find(table_->key(request));
    }
    // Of the current cell, as the next request would see it.
    Count global(const std::string& identifier) {
        const EpochPin pin;
        if (const Entry* const entry = find(identifier)) return entry->global(sequence());
        const CellName cell{.workspace = std::string(Request{}.workspace),
                            .name_space = "n",
                            .identifier = identifier,
                            .duration = duration,
                            .sequence = sequence()};
        return global_sync.components().sums(stored_key_id(stored_name(cell)), sequence()).foreign;
    }
    // As if the region's origin had reported what its other nodes spent.
    void spend_by_peers(const std::string& identifier, Count count, Count limit = 10) {
        spend(identifier, 0, limit);
        const EpochPin pin;
        Entry& entry = *find(identifier);
        entry.raise_peers(sequence(), count);
        global_sync.offer(entry);
    }
    Count peers(const std::string& identifier) {
        const EpochPin pin;
        const Entry* const entry = find(identifier);
        return entry == nullptr ? 0 : entry->peers(sequence());
    }
    Sequence sequence() const { return instant_at(clock_.wall, duration).sequence; }

    // Publishes what is due, and tries again what fails, until the tick is over.
    void publish() {
        global_sync.offer_changes();
        global_sync.publisher().tick_now(clock_.now);
        tick();
    }

    // The same at the time of the next regular tick.
    void tick() {
        global_sync.offer_changes();
        Publisher& publisher = global_sync.publisher();
        do {
            clock_.advance(std::max(
                std::chrono::ceil<std::chrono::milliseconds>(publisher.wake_at() - clock_.now),
                std::chrono::milliseconds{0}));
            const auto call = publisher.next(clock_.now, clock_.wall);
            if (!call) return;
            make_call(*call);
        } while (publisher.wake_at() < clock_.now + std::chrono::seconds{4});
    }

    void make_call(const Publisher::Call& call) { global_sync.make_call(call, store, clock_.wall); }

    // Moves time to the next page, and reads it and all that are due at once.
    void import() {
        Importer& importer = global_sync.importer();
        clock_.advance(
            std::max(std::chrono::ceil<std::chrono::milliseconds>(importer.wake_at() - clock_.now),
                     std::chrono::milliseconds{0}));
        while (const auto query = global_sync.next_import(clock_.now, clock_.wall)) {
            const auto end =
                store.import(*query, [&](const RegionRow& row) { importer.merge(row); });
            importer.answered(end, clock_.now);
        }
    }

    Table& table() { return *table_; }

  private:
    Request request_for(const std::string& identifier) const {
        return {.name_space = "n", .identifier = identifier, .duration = duration};
    }

    Clock& clock_;
    const std::unique_ptr<Table> table_;

  public:
    Duration duration{600'000};
    FickleStore store;
    GlobalSync global_sync;
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_GLOBAL_FIXTURE_H_
