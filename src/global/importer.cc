#include "global/importer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "counter/epoch.h"
#include "global/hashed_name_cells.h"

namespace sluice {
namespace {

// How far before the newest change an import looks for changes that became visible late, beside one
// interval: as late as a store allows, and a margin for the COMMIT itself.
constexpr std::chrono::milliseconds kOverlap = kMaxCommitDelay + std::chrono::seconds{5};

// The smallest page, which even a slow store can read.
constexpr std::size_t kLeastPageRows = 100;
// How many pages have to succeed before larger ones are tried.
constexpr int kGrowAfter = 8;

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
                   PublishQueue& queue,
                   HashedNameCells& hashed_name_cells,
                   StoreBreaker& breaker,
                   const Config& config,
                   Time now)
    : table_(table),
      publish_queue_(queue),
      hashed_name_cells_(hashed_name_cells),
      breaker_(breaker),
      interval_(config.interval),
      most_page_rows_(config.page_rows),
      changes_page_{.rows = config.page_rows},
      scan_page_{.rows = config.page_rows},
      schedule_(config.interval, now, config.seed) {}

std::optional<ImportQuery> Importer::next(Time now, std::optional<UnixTime> wall) {
    if (underway_ != nullptr || now < wake_at()) return std::nullopt;
    if (!is_in_tick_ && schedule_.is_due(now)) begin_tick(wall);
    if (!breaker_.allow(now)) {
        end_tick(now);
        return std::nullopt;
    }
    underway_ = is_in_tick_ && changes_ ? &*changes_ : &*scan_;
    call_began_ = now;
    wall_ = wall;
    cells_of_page_ = 0;
    ImportQuery query = underway_->next;
    query.living_at = wall.value_or(UnixTime{});
    query.page_rows = page_size_of(*underway_).rows;
    return query;
}

// Passes that an earlier tick did not complete are resumed.
void Importer::begin_tick(std::optional<UnixTime> wall) {
    is_in_tick_ = true;
    if (wall) hashed_name_cells_.forget_dead(*wall);
    if (!scan_ && (!since_ || ticks_ % kScanEvery == 0)) scan_ = Pass{};
    if (!changes_ && since_) changes_ = Pass{.next = {.living_at = {}, .changed_since = since_}};
    ++ticks_;
}

void Importer::merge(const ImportedCell& cell) {
    ++cells_of_page_;
    if (!is_possible(cell.cell)) return;
    cells_.fetch_add(1, std::memory_order_relaxed);
    const UnixTime now = wall_.value_or(start_of(cell.cell.sequence, cell.cell.duration));
    const EpochPin pin;
    if (!is_hashed(cell.cell)) {
        Entry* const entry = table_.entry_for_import(request_for(cell.cell), now);
        if (entry != nullptr) merge_into(*entry, cell);
    } else if (const auto key = hashed_name_cells_.find_or_hold(cell, now)) {
        Entry* const entry = table_.entry_for_import(request_for(*key), now);
        if (entry == nullptr) return;
        merge_into(*entry, cell);
        // The entry may be a new one, of a key that was dropped meanwhile.
        hashed_name_cells_.add(*entry);
    }
}

void Importer::merge_into(Entry& entry, const ImportedCell& cell) {
    // A cell that is not held is one of a region whose clock is wrong.
    if (!entry.merge_imported(cell.cell.sequence, {cell.own, cell.foreign})) return;
    // Other regions spend in this cell, so the policy now selects even a small count of ours.
    if (cell.foreign != 0) publish_queue_.offer(entry);
}

void Importer::answered(const StoreResult<ImportEnd>& end, Time now) {
    Pass& pass = *std::exchange(underway_, nullptr);
    page_ended_ = now;
    const auto* const failure = std::get_if<StoreFailure>(&end);
    breaker_.ended(StoreUse::kImport, {.began = call_began_, .ended = now}, failure);
    adapt_size(page_size_of(pass), failure);
    if (failure != nullptr) {
        failures_.fetch_add(1, std::memory_order_relaxed);
        end_tick(now);
        return;
    }
    const bool is_of_scan = scan_ && &pass == &*scan_;
    succeeded(pass, std::get<ImportEnd>(end), now);
    if (is_in_tick_ && !changes_ && (is_of_scan || !scan_)) end_tick(now);
    goes_on_ = is_in_tick_ || scan_;
}

// Reads nothing more before the next tick.
void Importer::end_tick(Time now) {
    goes_on_ = false;
    if (std::exchange(is_in_tick_, false)) schedule_.finish(now);
}

// Changes that are made during a pass are left to the next one, or it might never end. The pass
// covers what was visible when its first page was read, rows with stamps in the future included.
void Importer::succeeded(Pass& pass, const ImportEnd& end, Time now) {
    if (!pass.newest) {
        pass.newest = end.newest;
        pass.last_stamp = end.last_stamp;
    }
    if (!since_ && end.newest) since_ = since(*end.newest);
    pass.cells += cells_of_page_;
    const bool is_up_to_date =
        end.rest && end.rest->changed_since && *end.rest->changed_since > pass.last_stamp;
    if (!end.rest || is_up_to_date) return complete(pass, now);
    pass.next = *end.rest;
}

void Importer::complete(const Pass& pass, Time now) {
    cells_last_time_.store(pass.cells, std::memory_order_relaxed);
    if (changes_ && &pass == &*changes_) {
        if (pass.newest) since_ = since(*pass.newest);
        changes_.reset();
    } else {
        has_scanned_ = true;
        scan_.reset();
    }
    if (has_scanned_) last_success_.store(now, std::memory_order_relaxed);
}

Importer::PageSize& Importer::page_size_of(const Pass& pass) {
    return changes_ && &pass == &*changes_ ? changes_page_ : scan_page_;
}

void Importer::adapt_size(PageSize& size, const StoreFailure* failure) const {
    if (failure == nullptr && ++size.successes < kGrowAfter) return;
    const std::size_t rows = failure != nullptr ? size.rows / 2 : size.rows * 2;
    size = {.rows = std::min(std::max(rows, kLeastPageRows), most_page_rows_)};
}

UnixTime Importer::since(UnixTime newest) const {
    return newest - interval_ - kOverlap;
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
