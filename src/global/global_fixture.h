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
    std::vector<std::vector<RegionCount>> published;  // what succeeded
    std::vector<ImportQuery> imports;
    std::size_t round_trips = 0;                      // publishes without rows that succeeded
    std::optional<std::uint64_t> connection;          // shown instead of the store's own
    std::function<bool(const RegionCount&)> refuses;  // all chunks with such a row
    std::function<bool(const RegionCount&)> locked;   // all chunks with such a row are kBusy
    std::size_t most_page_rows = SIZE_MAX;  // a larger page takes longer than its caller waits

    std::optional<StoreFailure> publish(std::span<const RegionCount> rows) override {
        if (auto failure = next_failure()) return failure;
        if (refuses && std::ranges::any_of(rows, refuses))
            return StoreFailure{.kind = StoreFailure::Kind::kRows, .why = "scripted"};
        if (locked && std::ranges::any_of(rows, locked))
            return StoreFailure{.kind = StoreFailure::Kind::kBusy, .why = "scripted"};
        if (rows.empty()) {
            ++round_trips;
        } else {
            published.emplace_back(rows.begin(), rows.end());
        }
        return store_->publish(rows);
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

// The only node of a region.
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

    GlobalNode(Clock& clock,
               const std::shared_ptr<MemoryWorld>& world,
               const std::string& region,
               std::size_t import_page_rows = kImportPageRows)
        : clock_(clock),
          table_(*Table::create({.max_keys = 10'000, .sharing = Sharing::kSole, .seed = 1})),
          store(world->join(region)),
          global_sync(
              *table_,
              {.seed = std::hash<std::string>{}(region), .import_page_rows = import_page_rows},
              clock.now) {}

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
    // Of the current cell; 0 if it is not held.
    Count global(const std::string& identifier) {
        const EpochPin pin;
        const Entry* const entry = find(identifier);
        return entry == nullptr ? 0 : entry->global(sequence());
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
            const auto rows = publisher.next(clock_.now, clock_.wall);
            if (!rows) return;
            const auto failure = store.publish(*rows);
            publisher.answered(failure, store.connections(), clock_.now);
        } while (publisher.wake_at() < clock_.now + std::chrono::seconds{4});
    }

    // Moves time to the next page, and reads it and all that are due at once.
    void import() {
        Importer& importer = global_sync.importer();
        clock_.advance(
            std::max(std::chrono::ceil<std::chrono::milliseconds>(importer.wake_at() - clock_.now),
                     std::chrono::milliseconds{0}));
        while (const auto query = importer.next(clock_.now, clock_.wall)) {
            const auto end =
                store.import(*query, [&](const ImportedCell& cell) { importer.merge(cell); });
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
