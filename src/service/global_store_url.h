// Opening, migrating and cleaning up the global store that a URL names (url/store_url.h).
#ifndef SLUICE_SERVICE_GLOBAL_STORE_URL_H_
#define SLUICE_SERVICE_GLOBAL_STORE_URL_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/migration.h"
#include "global/store.h"

namespace sluice {

struct GlobalPlace {
    std::string url;
    std::string region;  // whose components are published
};

// Opens the store. A server or file that can't be reached is no error here; calls to the store
// fail.
Result<std::unique_ptr<GlobalStore>> open_global(const GlobalPlace& place);

// Brings the store to the schema of this program. A memory: store has none, which is an error. Safe
// to repeat, and to run from several processes at once.
Result<Migration> migrate_global(const std::string& url, DryRun dry_run);

// How long a row has been expired, by the store's clock, before it is deleted: no node's clock is
// further behind.
inline constexpr std::chrono::minutes kCleanupMargin{1};

struct Cleanup {
    std::size_t batch = 1'000;  // the most rows that one statement deletes
    // Called between batches, with the number of rows deleted so far. Blocks for as long as the
    // store should be left alone. False: stop here.
    std::function<bool(std::uint64_t deleted)> pause;
};

struct CleanupOutcome {
    std::uint64_t deleted;
    bool complete;  // no expired row is left
};

// Deletes in batches all rows that expired more than kCleanupMargin ago, by the store's clock: the
// clock of this machine does not matter. Retries a few times while the store is busy. The error
// says how many rows were deleted.
Result<CleanupOutcome> cleanup_global(GlobalStore& store, const Cleanup& cleanup);

}  // namespace sluice

#endif  // SLUICE_SERVICE_GLOBAL_STORE_URL_H_
