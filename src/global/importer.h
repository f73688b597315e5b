// Importer: reads the components of all regions from the global store.
#ifndef SLUICE_GLOBAL_IMPORTER_H_
#define SLUICE_GLOBAL_IMPORTER_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "global/policy.h"
#include "global/store.h"
#include "global/store_breaker.h"

namespace sluice {

// Each tick reads what changed since the newest change seen, less an overlap of 75 seconds: a row
// is stamped before it is committed, and may become visible up to kMaxCommitDelay after rows with
// later stamps. The first tick, and then one in kScanEvery, also begins a scan of all cells that
// can matter.
//
// Both are read page by page. A scan continues without a pause until the next tick is due; that
// tick first reads its changes, then at least one more page of the scan. After a failure both
// resume at the next tick, with pages of half the size; a few that succeed double it again.
//
// A stepped object: it has no thread, no socket and no clock.
//
//     if (auto query = importer.next(now, wall)) {
//         auto end = store.import(*query, [&](const RegionRow& row) { importer.merge(row); });
//         importer.answered(end, then);
//     }
//
// Thread-compatible, but for counts(), which any thread may call.
class Importer {
  public:
    using Time = TickSchedule::Time;

    struct Config {
        std::chrono::milliseconds interval;
        std::uint64_t seed = 0;  // of phase and jitter
        std::size_t page_rows = kImportPageRows;
    };

    // `merge` takes a component, as it would be at the time given; without one, at the time of its
    // cell. The breaker must outlive the importer.
    using Merge = std::function<void(const RegionRow& row, std::optional<UnixTime> wall)>;
    Importer(Merge merge, StoreBreaker& breaker, const Config& config, Time now);
    Importer(const Importer&) = delete;
    Importer& operator=(const Importer&) = delete;

    static constexpr int kScanEvery = 12;

    // The page to read; none if nothing is due. `wall` is the wall clock's time, or nothing where
    // requests carry their own time: then cells of all times are imported.
    std::optional<ImportQuery> next(Time now, std::optional<UnixTime> wall);

    // Merges a component of the page. Harmless if repeated, late, or before a failure.
    void merge(const RegionRow& row);

    // Reports the outcome of the page.
    void answered(const StoreResult<ImportEnd>& end, Time now);

    // Whether the next call of next() begins a tick.
    bool is_tick_due(Time now) const {
        return !is_in_tick_ && (is_first_ || schedule_.is_due(now));
    }

    // When to call next() again.
    Time wake_at() const { return goes_on_ || is_first_ ? page_ended_ : schedule_.next(); }

    // Since the start.
    struct Counts {
        std::uint64_t rows;            // merged
        std::uint64_t failures;        // pages that failed
        std::uint64_t rows_last_time;  // of the last complete pass or scan
        // When all changes were last read; none until the first scan is complete.
        std::optional<Time> last_success;
    };
    Counts counts() const;

  private:
    using Counter = std::atomic<std::uint64_t>;

    // A sequence of pages: all changes, or all cells.
    struct Pass {
        ImportQuery next = {};  // the page to read
        // Of its first page; none before that.
        std::optional<UnixTime> newest = {};
        std::optional<UnixTime> last_stamp = {};
        std::uint64_t rows = 0;
    };

    struct PageSize {
        std::size_t rows;
        int successes = 0;  // since it changed
    };

    void begin_tick();
    void end_tick(Time now);
    void adapt_size(PageSize& size, const StoreFailure* failure) const;
    void succeeded(Pass& pass, const ImportEnd& end, Time now);
    void complete(const Pass& pass, Time now);
    PageSize& page_size_of(const Pass& pass);
    UnixTime since(UnixTime newest) const;

    const Merge merge_;
    StoreBreaker& breaker_;
    const std::chrono::milliseconds interval_;
    const std::size_t most_page_rows_;
    PageSize changes_page_;
    PageSize scan_page_;
    TickSchedule schedule_;
    std::uint64_t ticks_ = 0;
    bool is_first_ = true;           // the tick at the start, outside of the schedule
    bool is_in_tick_ = false;        // its changes, or its page of a scan, have not been read yet
    bool goes_on_ = false;           // the next page may be read at once
    std::optional<Pass> changes_;    // not complete yet
    std::optional<Pass> scan_;       // likewise
    Pass* underway_ = nullptr;       // the one of these two whose page is being read
    bool has_scanned_ = false;       // a scan is complete
    std::optional<UnixTime> since_;  // changes from then on may be unseen; none: all changes
    Time call_began_;
    Time page_ended_;
    std::optional<UnixTime> wall_;  // of the page
    std::uint64_t rows_of_page_ = 0;

    // Written by the owner, read by any. Relaxed: each stands for itself.
    Counter rows_{0};
    Counter failures_{0};
    Counter rows_last_time_{0};
    std::atomic<Time> last_success_{Time::min()};
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_IMPORTER_H_
