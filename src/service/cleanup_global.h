// Deletes from a global store what no decision can need any more.
#ifndef SLUICE_SERVICE_CLEANUP_GLOBAL_H_
#define SLUICE_SERVICE_CLEANUP_GLOBAL_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "global/store.h"

namespace sluice {

// How long a row has been expired, by the store's clock, before it is deleted: no node's clock is
// further behind.
inline constexpr std::chrono::minutes kCleanupMargin{1};

struct Cleanup {
    std::size_t batch = 1'000;  // the most that one statement deletes
    // Called after each batch but the last, with how much was deleted so far; waits as long as the
    // store shall have peace. False: enough, the rest may stay.
    std::function<bool(std::uint64_t deleted)> pause;
};

struct CleanupOutcome {
    std::uint64_t deleted;
    bool complete;  // nothing is left that had expired
};

// Deletes in batches until nothing is left that expired more than kCleanupMargin ago by the store's
// clock: a cleaner with a wrong clock deletes what any other would. A store that is busy is asked
// again, a few times. An error is the store's, and says how much was deleted.
Result<CleanupOutcome> cleanup_global(GlobalStore& store, const Cleanup& cleanup);

}  // namespace sluice

#endif  // SLUICE_SERVICE_CLEANUP_GLOBAL_H_
