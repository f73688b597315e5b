#include "global/importer.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace sluice {
namespace {

// How far before the newest change an import looks for changes that became visible late, beside one
// interval: as late as a store allows, and a margin for the COMMIT itself.
constexpr std::chrono::milliseconds kOverlap = kMaxCommitDelay + std::chrono::seconds{5};

// The smallest page, which even a slow store can read.
constexpr std::size_t kLeastPageRows = 100;
// How many pages have to succeed before larger ones are tried.
constexpr int kGrowAfter = 8;

}  // namespace

Importer::Importer(Merge merge, StoreBreaker& breaker, const Config& config, Time now)
    : merge_(std::move(merge)),
      breaker_(breaker),
      interval_(config.interval),
      most_page_rows_(config.page_rows),
      changes_page_{.rows = config.page_rows},
      scan_page_{.rows = config.page_rows},
      schedule_(config.interval, now, config.seed),
      page_ended_(now) {}

std::optional<ImportQuery> Importer::next(Time now, std::optional<UnixTime> wall) {
    if (underway_ != nullptr || now < wake_at()) return std::nullopt;
    if (is_tick_due(now)) begin_tick();
    if (!breaker_.allow(now)) {
        end_tick(now);
        return std::nullopt;
    }
    Pass& pass = is_in_tick_ && changes_ ? *changes_ : *scan_;
    ImportQuery query = pass.next;  // may throw: nothing is underway then
    query.living_at = wall.value_or(UnixTime{});
    query.page_rows = page_size_of(pass).rows;
    underway_ = &pass;
    call_began_ = now;
    wall_ = wall;
    rows_of_page_ = 0;
    return query;
}

// Passes that an earlier tick did not complete are resumed.
void Importer::begin_tick() {
    is_in_tick_ = true;
    if (!scan_ && (!since_ || ticks_ % kScanEvery == 0)) scan_ = Pass{};
    if (!changes_ && since_) changes_ = Pass{.next = {.living_at = {}, .changed_since = since_}};
    ++ticks_;
}

void Importer::merge(const RegionRow& row) {
    ++rows_of_page_;
    rows_.fetch_add(1, std::memory_order_relaxed);
    merge_(row, wall_);
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
    if (!std::exchange(is_in_tick_, false)) return;
    if (!std::exchange(is_first_, false)) schedule_.finish(now);
}

// Changes that are made during a pass are left to the next one, or it might never end. The pass
// covers what was visible when its first page was read, rows with stamps in the future included.
void Importer::succeeded(Pass& pass, const ImportEnd& end, Time now) {
    if (!pass.newest) {
        pass.newest = end.newest;
        pass.last_stamp = end.last_stamp;
    }
    if (!since_ && end.newest) since_ = since(*end.newest);
    pass.rows += rows_of_page_;
    const bool is_up_to_date =
        end.rest && end.rest->changed_since && *end.rest->changed_since > pass.last_stamp;
    if (!end.rest || is_up_to_date) return complete(pass, now);
    pass.next = *end.rest;
}

void Importer::complete(const Pass& pass, Time now) {
    rows_last_time_.store(pass.rows, std::memory_order_relaxed);
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
    return {.rows = read(rows_),
            .failures = read(failures_),
            .rows_last_time = read(rows_last_time_),
            .last_success = success == Time::min() ? std::nullopt : std::optional(success)};
}

}  // namespace sluice
