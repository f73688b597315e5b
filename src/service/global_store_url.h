// The global store that a URL names: checking the URL, opening, migrating and cleaning up the
// store.
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

// Returns what is wrong with the URL of a global store; none if it is of a known form:
//
//     mysql://[user[:password]@]host[:port]/database   MySQL or MariaDB; see mysql/mysql_url.h
//     sqlite:PATH                                      a file, for processes of one machine
//     memory:NAME                                      users of the same name in this process
//
// The error holds no secret of the URL.
std::optional<Error> invalid_global(const std::string& url);

// The URL without its password, for logs.
std::string shown_global(const std::string& url);

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
