// Importer: what the other regions have spent reaches this one.
#ifndef SLUICE_GLOBAL_IMPORTER_H_
#define SLUICE_GLOBAL_IMPORTER_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "counter/table.h"
#include "global/abridged_cells.h"
#include "global/offers.h"
#include "global/schedule.h"
#include "global/store.h"
#include "global/store_breaker.h"

namespace sluice {

// The first pass asks for all cells that can matter, and so does one in kFullEvery. The others ask
// for what changed since the newest change that was seen, less an overlap of 75 seconds: a row is
// stamped before it is committed, and may become visible up to kMaxCommitDelay after others with
// later stamps.
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
    };

    // All must outlive it.
    Importer(Table& table,
             Offers& offers,
             AbridgedCells& abridged,
             StoreBreaker& breaker,
             const Config& config,
             Time now);
    Importer(const Importer&) = delete;
    Importer& operator=(const Importer&) = delete;

    static constexpr int kFullEvery = 12;

    // What to ask for; none if it is not time. `wall` is the wall clock's time, or nothing where
    // requests come with another one: then cells of all times are imported.
    std::optional<ImportQuery> next(Time now, std::optional<UnixTime> wall);

    // A cell of the answer. May come twice, late, or after a failure.
    void merge(const ImportedCell& cell);

    // The import has come to its end.
    void answered(const StoreResult<ImportEnd>& end, Time now);

    // When to ask again.
    Time wake_at() const { return schedule_.next(); }

    // Since the start.
    struct Counts {
        std::uint64_t cells;            // merged
        std::uint64_t failures;         // imports that failed
        std::uint64_t cells_last_time;  // of the last import that succeeded
        std::optional<Time> last_success;
    };
    Counts counts() const;

  private:
    void merge_into(Entry& entry, const ImportedCell& cell);

    using Counter = std::atomic<std::uint64_t>;

    Table& table_;
    Offers& offers_;
    AbridgedCells& abridged_;
    StoreBreaker& breaker_;
    const std::chrono::milliseconds interval_;
    Schedule schedule_;
    bool is_underway_ = false;
    Time call_began_;
    std::optional<UnixTime> wall_;  // of the pass
    std::uint64_t cells_of_pass_ = 0;
    int passes_ = 0;  // since a full one
    std::optional<UnixTime> since_;

    // Written by the owner, read by any. Relaxed: each stands for itself.
    Counter cells_{0};
    Counter failures_{0};
    Counter cells_last_time_{0};
    std::atomic<Time> last_success_{Time::min()};
};

}  // namespace sluice

#endif  // SLUICE_GLOBAL_IMPORTER_H_
