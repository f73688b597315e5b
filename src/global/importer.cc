#include "global/importer.h"

#include <algorithm>
#include <variant>

#include "counter/epoch.h"
#include "global/stored_name.h"

namespace sluice {
namespace {

// How far before the newest change an import looks for changes that became visible late, beside one
// interval: as late as a store allows, and a margin for the COMMIT itself.
constexpr std::chrono::milliseconds kOverlap = kMaxCommitDelay + std::chrono::seconds{5};

// Whether a request can have made it. Others than Sluice may write to the store.
bool is_possible(const CellName& cell) {
    return !cell.workspace.empty() && !cell.name_space.empty() && !cell.identifier.empty() &&
           cell.duration >= kMinDuration && cell.duration <= kMaxDuration && cell.sequence >= 0 &&
           cell.sequence <= static_cast<Sequence>(kMaxCount) / cell.duration.count();
}

// Borrows the parts of a key or of a cell's name.
template <class Named>
Request request_for(const Named& named) {
    return {.workspace = named.workspace,
            .name_space = named.name_space,
            .identifier = named.identifier,
            .duration = named.duration};
}

}  // namespace

Importer::Importer(Table& table,
                   Offers& offers,
                   AbridgedCells& abridged,
                   StoreBreaker& breaker,
                   const Config& config,
                   Time now)
    : table_(table),
      offers_(offers),
      abridged_(abridged),
      breaker_(breaker),
      interval_(config.interval),
      schedule_(config.interval, now, config.seed) {}

std::optional<ImportQuery> Importer::next(Time now, std::optional<UnixTime> wall) {
    if (is_underway_ || !schedule_.is_due(now)) return std::nullopt;
    if (!breaker_.allow(now)) {
        schedule_.finish(now);
        return std::nullopt;
    }
    is_underway_ = true;
    call_began_ = now;
    wall_ = wall;
    cells_of_pass_ = 0;
    if (wall) abridged_.forget_dead(*wall);
    if (passes_ == 0) since_.reset();
    return ImportQuery{.living_at = wall.value_or(UnixTime{}), .changed_since = since_};
}

void Importer::merge(const ImportedCell& cell) {
    ++cells_of_pass_;
    if (!is_possible(cell.cell)) return;
    cells_.fetch_add(1, std::memory_order_relaxed);
    const UnixTime now = wall_.value_or(start_of(cell.cell.sequence, cell.cell.duration));
    const EpochPin pin;
    if (!is_abridged(cell.cell)) {
        Entry* const entry = table_.entry_for_import(request_for(cell.cell), now);
        if (entry != nullptr) merge_into(*entry, cell);
    } else if (const auto key = abridged_.find_or_hold(cell, now)) {
        Entry* const entry = table_.entry_for_import(request_for(*key), now);
        if (entry == nullptr) return;
        merge_into(*entry, cell);
        // The entry may be a new one, of a key that was dropped meanwhile.
        abridged_.add(*entry);
    }
}

void Importer::merge_into(Entry& entry, const ImportedCell& cell) {
    // A cell that is not held is one of a region whose clock is wrong.
    if (!merge_imported(cell, entry)) return;
    // Now that others are known to spend, they should know what is spent here, however little.
    if (cell.foreign != 0) offers_.offer(entry);
}

void Importer::answered(const StoreResult<ImportEnd>& end, Time now) {
    is_underway_ = false;
    const auto* const failure = std::get_if<StoreFailure>(&end);
    breaker_.ended(StoreUse::kImport, {.began = call_began_, .ended = now}, failure);
    schedule_.finish(now);
    if (failure != nullptr) {
        failures_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    passes_ = (passes_ + 1) % kFullEvery;
    if (const auto newest = std::get<ImportEnd>(end).newest)
        since_ = std::max(since_.value_or(UnixTime{}), *newest - interval_ - kOverlap);
    cells_last_time_.store(cells_of_pass_, std::memory_order_relaxed);
    last_success_.store(now, std::memory_order_relaxed);
}

Importer::Counts Importer::counts() const {
    const auto read = [](const Counter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    const Time success = last_success_.load(std::memory_order_relaxed);
    return {.cells = read(cells_),
            .failures = read(failures_),
            .cells_last_time = read(cells_last_time_),
            .last_success = success == Time::min() ? std::nullopt : std::optional(success)};
}

}  // namespace sluice
