#include "global/global_sync.h"

#include <algorithm>
#include <exception>
#include <variant>

#include "counter/epoch.h"
#include "global/stored_name.h"

namespace sluice {
namespace {

// Borrows the parts of a cell's name.
Request request_for(const CellName& cell) {
    return {.workspace = cell.workspace,
            .name_space = cell.name_space,
            .identifier = cell.identifier,
            .duration = cell.duration};
}

// By how much the clock of another region may be ahead.
constexpr std::chrono::minutes kMaxClockLead{1};

// Such a cell would stay for years, in the place of others: the clock of its region is wrong.
bool is_far_ahead(const CellName& cell, UnixTime wall) {
    return start_of(cell.sequence, cell.duration) > wall + cell.duration + kMaxClockLead;
}

}  // namespace

GlobalSync::GlobalSync(Table& table, Config config, Time now)
    : table_(table),
      least_regions_(std::max<std::size_t>(config.least_regions, 1)),
      components_(
          config.region,
          config.most_cells,
          [this](const StoredKeyId& id, std::uint64_t hash) { return holds_long_key(id, hash); }),
      regions_(least_regions_),
      publish_queue_({.policy = config.policy,
                      .clock = std::move(config.clock),
                      .urged = std::move(config.urged),
                      .announce = announcing(std::move(config.announce)),
                      .is_bus_live = [this](Time at) { return !bus_health_.is_silent(at); }},
                     components_,
                     regions_),
      publisher_(table,
                 publish_queue_,
                 components_,
                 regions_,
                 publish_breaker_,
                 {.policy = config.policy, .interval = config.interval, .seed = config.seed},
                 now),
      importer_(
          [this](const RegionRow& row, std::optional<UnixTime> wall) {
              merge(row, {.source = ComponentSource::kStore, .wall = wall});
          },
          import_breaker_,
          {.interval = config.interval, .seed = ~config.seed, .page_rows = config.import_page_rows},
          now) {
    table_.watch_new_keys([this](Entry& entry) { take_counts(entry); });
}

void GlobalSync::offer_changes() {
    const ChangedList::Taken taken = table_.changed().take();
    for (Entry* entry : taken.retired)
        table_.dispose(*entry);
    for (Entry* entry : taken.changed) {
        const Components synced(*entry);
        offer(*entry);
        if (!table_.changed().release(*entry, synced)) table_.dispose(*entry);
    }
}

// A component is merged before its entry is looked up, and an entry is made before its components
// are: so one of the two sees the other.
void GlobalSync::merge(const RegionRow& row, const Arrival& arrival) {
    if (!is_possible(row.cell) || row.count == 0) return;
    if (arrival.wall && is_far_ahead(row.cell, *arrival.wall)) return;
    const StoredKeyId id = stored_key_id(row.cell);
    const auto sums = components_.merge(id,
                                        row.cell,
                                        {.region = row.region,
                                         .count = row.count,
                                         .source = arrival.source,
                                         .at = publish_queue_.now()});
    if (!sums) return;
    const EpochPin pin;
    Entry* const entry = find_entry(row.cell, id);
    if (entry == nullptr) return;
    const UnixTime now = arrival.wall.value_or(start_of(row.cell.sequence, row.cell.duration));
    // An entry that is closed or outgrown is replaced when its key is next requested, and the new
    // one takes its counts itself.
    if (entry->outgrown(now) || entry->locate(now).sequence == Entry::kClosed) return;
    if (!entry->merge_imported(row.cell.sequence, {.own = sums->own, .foreign = sums->foreign}))
        return;
    // The policy may select a count of ours once other regions spend in the cell.
    if (sums->foreign != 0) offer(*entry);
}

// Counts of other regions, for an entry that a request has just made.
void GlobalSync::take_counts(Entry& entry) {
    const bool may_be_long = entry.text_bytes() > kStoredWorkspaceBytes;
    if (components_.is_empty() && !may_be_long) return;
    const Entry::Key key = entry.key();
    const StoredKeyId id = stored_key_id(key);
    if (may_be_long && has_long_part(key)) components_.add_long_key(id, entry.hash());
    bool has_foreign = false;
    for (const auto& [sequence, sums] : components_.cells_of(id)) {
        const bool is_held =
            entry.merge_imported(sequence, {.own = sums.own, .foreign = sums.foreign});
        has_foreign |= is_held && sums.foreign != 0;
    }
    if (has_foreign) offer(entry);
}

std::function<void(const CellName&, Count)> GlobalSync::announcing(
    std::function<void(const CellName&, Count)> announce) {
    if (!announce) return {};
    return [this, announce = std::move(announce)](const CellName& cell, Count count) {
        bus_health_.sent(publish_queue_.now());
        announce(cell, count);
    };
}

bool GlobalSync::receive(const BusMessage& message, std::optional<UnixTime> wall) {
    for (const auto& [cell, count] : message.counts)
        merge({.cell = cell, .region = message.region, .count = count},
              {.source = ComponentSource::kBus, .wall = wall});
    return bus_health_.received(publish_queue_.now());
}

bool GlobalSync::receive_own(const BusMessage& message) {
    for (const auto& [cell, count] : message.counts)
        components_.note_announced(stored_key_id(cell), cell, count);
    return bus_health_.received(publish_queue_.now());
}

void GlobalSync::announce_again() {
    for (const auto& [cell, count] : components_.all_announced())
        publish_queue_.announce(cell, count);
}

// The caller holds an EpochPin.
bool GlobalSync::holds_long_key(const StoredKeyId& id, std::uint64_t table_hash) {
    return std::ranges::any_of(table_.entries_with_hash(table_hash), [&](const Entry* entry) {
        return stored_key_id(entry->key()) == id;
    });
}

Entry* GlobalSync::find_entry(const CellName& stored, const StoredKeyId& id) {
    if (!is_hashed(stored)) {
        const Request request = request_for(stored);
        return table_.find_exactly(table_.key(request));
    }
    const auto hash = components_.hash_of_long_key(id);
    if (!hash) return nullptr;
    for (Entry* const entry : table_.entries_with_hash(*hash))
        if (stored_key_id(entry->key()) == id) return entry;
    return nullptr;
}

void GlobalSync::make_call(const Publisher::Call& call,
                           GlobalStore& store,
                           std::optional<UnixTime> wall) {
    const auto visit = [&](const RegionRow& row) {
        merge(row, {.source = ComponentSource::kStore, .wall = wall});
    };
    StoreResult<PublishEnd> end = PublishEnd{};
    try {
        end = call.kind == Publisher::Call::Kind::kRead ? store.read(call.rows, visit)
                                                        : store.publish(call.rows, visit);
    } catch (const std::exception& failure) {  // for lack of memory: it is tried again
        end = StoreFailure{.kind = StoreFailure::Kind::kLost, .why = failure.what()};
    }
    answered(end, store.connections(), publish_queue_.now());
}

void GlobalSync::answered(const StoreResult<PublishEnd>& end, std::uint64_t connection, Time now) {
    const auto* const failure = std::get_if<StoreFailure>(&end);
    const auto* const done = std::get_if<PublishEnd>(&end);
    if (done != nullptr && done->regions) set_regions(std::max(*done->regions, least_regions_));
    publisher_.answered(
        failure == nullptr ? std::nullopt : std::optional(*failure), connection, now);
}

// With more regions, shares are smaller, and counts that were offered too early are due. Idle keys
// are not offered again by themselves.
void GlobalSync::set_regions(std::size_t regions) {
    if (regions_.exchange(regions, std::memory_order_relaxed) >= regions) return;
    constexpr std::size_t kBucketsPerPin = 256;
    for (Table::Walk walk; !table_.is_done(walk);) {
        const EpochPin pin;
        for (Entry* const entry : table_.next_entries(walk, kBucketsPerPin))
            offer(*entry);
    }
}

std::optional<ImportQuery> GlobalSync::next_import(Time now, std::optional<UnixTime> wall) {
    if (wall && importer_.is_tick_due(now)) {
        const EpochPin pin;
        components_.forget_dead(*wall);
    }
    return importer_.next(now, wall);
}

}  // namespace sluice
