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

#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/thread.h"
#include "regional/origin.h"

namespace sluice {

struct SqliteOriginOptions {
    std::string path;    // is created if it doesn't exist; its folder must
    std::string region;  // counts of other regions in the same file are not seen
    // New at each start of the process: the components of the last process stay in the totals as
    // another node's.
    std::string node;
    // How long a call may take before it is answered without a value.
    std::chrono::milliseconds timeout{300};
    // How long to wait at the start for another process that is about to release the file.
    std::chrono::milliseconds busy_timeout{1000};
    // The largest size of the file. Expired cells make room for new ones, but the file never
    // shrinks.
    std::int64_t max_bytes = std::int64_t{1} << 33;
    // Replaced by tests. Called on the thread of the file, which may outlive the origin.
    std::function<UnixTime()> now = exact_wall_time;
    OnThreadFailure on_thread_failure = {};  // of the thread of the file
};

// Opens the file for this process alone, reads it once to check that it is intact, and creates its
// table if it is new. kStoreFailed: another process uses it, it is damaged, another program's or
// from a newer version, or it can't be written; the message says what to do.
//
// Opening blocks. After that a thread of its own reads and writes the file, one call after the
// other and each in one transaction; answers and events come on the thread of `loop`, which must
// outlive the origin. It may be destroyed during an answer or event.
//
// - Answered calls survive a crash of the process; the last ones may be lost in a power failure.
// - A call that is not done within the timeout is answered without a value, and may still take
//   effect. While one is stuck the origin is unavailable: calls are answered without a value at
//   once. So are calls beyond the 1,024 that may be queued.
// - A failed write is reported as refused. A failed read makes the origin unavailable.
// - While it is unavailable it writes a heartbeat of its own every 500 ms; the first call that
//   works makes it available.
// - Its destruction takes up to a second if a call is stuck; the file is then in use until that
//   call ends.
Result<std::unique_ptr<Origin>> open_sqlite_origin(boost::asio::io_context& loop,
                                                   SqliteOriginOptions options);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_SQLITE_SQLITE_ORIGIN_H_
