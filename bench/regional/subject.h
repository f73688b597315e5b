// The limiter under test, and the requests of the trials.
#ifndef SLUICE_BENCH_REGIONAL_SUBJECT_H_
#define SLUICE_BENCH_REGIONAL_SUBJECT_H_

#include <sluice/limiter.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/keys.h"

namespace sluice::bench {

inline constexpr const char* kRegion = "bench";

// Long, so that no window ends during a trial.
inline constexpr std::chrono::milliseconds kWindow = std::chrono::hours(24);

// How long the end of a trial waits until everything is flushed.
inline constexpr std::chrono::milliseconds kFlushTimeout = std::chrono::seconds(120);

// Long, so that a busy machine does not look like an unavailable origin.
inline constexpr std::chrono::milliseconds kOriginTimeout{2'000};

// Exits the program if the limiter can't be created or its origin is unavailable.
Limiter make_limiter(const std::string& origin);

// With a limit that is never reached.
Request request_for(const Key& key, std::int64_t cost = 1);

// Whether each of the keys passed.
bool decide_all(Limiter& limiter, std::span<const Key> keys);

struct RequestTimes {
    double seconds;                           // of the whole call
    std::vector<std::uint32_t> microseconds;  // of each request, in the order of the keys
};

// Requests each key once, with `outstanding` requests in flight at any time.
RequestTimes limit_all_async(Limiter& limiter,
                             const std::vector<Key>& keys,
                             std::uint32_t outstanding,
                             std::int64_t cost);

UnixTime wall_time();

// Exits the program with this message.
[[noreturn]] void give_up(const std::string& why);

// The same for a trial whose origin was unavailable for a while, which makes it invalid. The caller
// may repeat it.
inline constexpr int kDisturbed = 3;
[[noreturn]] void give_up_disturbed();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_REGIONAL_SUBJECT_H_
