// Importer: what the other regions have spent reaches this one.
#ifndef SLUICE_GLOBAL_IMPORTER_H_
#define SLUICE_GLOBAL_IMPORTER_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "counter/table.h"
#include "global/hashed_name_cells.h"
#include "global/publish_queue.h"
#include "global/schedule.h"
#include "global/store.h"
#include "global/store_breaker.h"

namespace sluice {

// Each tick asks for what changed since the newest change that was seen, less an overlap of 75
// seconds: a row is stamped before it is committed, and may become visible up to kMaxCommitDelay
// after others with later stamps. The first tick, and then one in kScanEvery, also begins a scan of
// all cells that can matter.
//
// Both are read page by page. A scan goes on, back to back, until the next tick is due, which has
// its changes read first, and then at least one more page. After a failure both wait for the next
// tick and go on where they were, with pages of half the size; a few that succeed double it again.
//
// A stepped object: it has no thread, no socket and no clock.
//
//     if (auto query = importer.next(now, wall)) {
//         auto end = store.import(*query, [&](const ImportedCell& cell) { importer.merge(cell); });
//         importer.answered(end, then);
//     }
//
// Thread-compatible, but for counts(), which any thread may call.
class Importer {
  public:
    using Time = Schedule::Time;

    struct Config {
        std::chrono::milliseconds interval;
        std::uint64_t seed = 0;  // of phase and jitter
        std::size_t page_rows = kImportPageRows;
    };

    // All must outlive it.
    Importer(Table& table,
             PublishQueue& queue,
             HashedNameCells& abridged,
             StoreBreaker& breaker,
             const Config& config,
             Time now);
    Importer(const Importer&) = delete;
    Importer& operator=(const Importer&) = delete;

    static constexpr int kScanEvery = 12;

    // The page to ask for; none if it is not time. `wall` is the wall clock's time, or nothing
    // where requests come with another one: then cells of all times are imported.
    std::optional<ImportQuery> next(Time now, std::optional<UnixTime> wall);

    // A cell of the page. May come twice, late, or after a failure.
    void merge(const ImportedCell& cell);

    // The page has come to its end.
    void answered(const StoreResult<ImportEnd>& end, Time now);

    // When to ask again.
    Time wake_at() const { return goes_on_ ? page_ended_ : schedule_.next(); }

    // Since the start.
    struct Counts {
        std::uint64_t cells;            // merged
        std::uint64_t failures;         // pages that failed
        std::uint64_t cells_last_time;  // of the last pass or scan that came to its end
        // When all that had changed was last read; none until the first scan has come to its end.
        std::optional<Time> last_success;
    };
    Counts counts() const;

  private:
    void merge_into(Entry& entry, const ImportedCell& cell);

    using Counter = std::atomic<std::uint64_t>;

    // Several pages: all that changed, or all that there is.
    struct Pass {
        ImportQuery next = {};  // the page to ask for
        // As its first page had them; none before.
        std::optional<UnixTime> newest = {};
        std::optional<UnixTime> last_stamp = {};
        std::uint64_t cells = 0;
    };

    struct PageSize {
        std::size_t rows;
        int successes = 0;  // since it changed
    };

    void begin_tick(std::optional<UnixTime> wall);
    void end_tick(Time now);
    void adapt_size(PageSize& size, const StoreFailure* failure) const;
    void succeeded(Pass& pass, const ImportEnd& end, Time now);
    void complete(const Pass& pass, Time now);
    PageSize& page_size_of(const Pass& pass);
    UnixTime since(UnixTime newest) const;

    Table& table_;
    PublishQueue& publish_queue_;
    HashedNameCells& hashed_name_cells_;
    StoreBreaker& breaker_;
    const std::chrono::milliseconds interval_;
    const std::size_t most_page_rows_;
    PageSize changes_page_;
    PageSize scan_page_;
    Schedule schedule_;
    std::uint64_t ticks_ = 0;
    bool is_in_tick_ = false;        // its changes, or its page of a scan, have not been read yet
    bool goes_on_ = false;           // the next page may be asked for at once
    std::optional<Pass> changes_;    // underway, or to be gone on with
    std::optional<Pass> scan_;       // likewise
    Pass* underway_ = nullptr;       // one of these two: that whose page was asked for
    bool has_scanned_ = false;       // a scan has come to its end
    std::optional<UnixTime> since_;  // from when on changes may not have been seen; none: from ever
    Time call_began_;
    Time page_ended_;
    std::optional<UnixTime> wall_;  // of the page
    std::uint64_t cells_of_page_ = 0;

    // Written by the owner, read by any. Relaxed: each stands for itself.
    Counter cells_{0};
    Counter failures_{0};
    Counter cells_last_time_{0};
    std::atomic<Time> last_success_{Time::min()};
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_IMPORTER_H_
