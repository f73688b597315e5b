// An origin in an SQLite file, for a region of a single node that keeps its counts over a restart.
#ifndef SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_H_
#define SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_H_

#include <sluice/result.h>
#include <sluice/time.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "regional/origin.h"

namespace sluice {

struct SqliteOriginOptions {
    std::string path;    // is created if it doesn't exist; its folder must
    std::string region;  // counts of other regions in the same file are not seen
    // Another one at each start of the process: what the last one spent is in the totals, but not
    // its own any more.
    std::string node;
    // How long to wait at the start for another process that is about to let go of the file.
    std::chrono::milliseconds busy_timeout{1000};
    // What the file may grow to. Dead cells make room for new ones, but the file never shrinks.
    std::int64_t max_bytes = std::int64_t{1} << 33;
    std::function<UnixTime()> now = exact_wall_time;  // replaced by tests
};

// Opens the file for this process alone, reads it once to see that it is whole, and makes its table
// if it is new. kStoreFailed: another process uses it, it is damaged, another program's or from a
// newer version, or it can't be written; the message says what to do.
//
// Each call is one transaction and blocks the calling thread for it; the answer comes before the
// call returns. What was answered survives the end of the process, however it ends, but the last
// moments may be lost with the machine's power. A call that fails makes the origin away, one that
// works makes it back; after a raise that failed, only a raise does.
Result<std::unique_ptr<Origin>> open_sqlite_origin(SqliteOriginOptions options);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_H_
