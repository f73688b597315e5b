// The limiter that the trials ask, and how they ask it.
#ifndef SLUICE_BENCH_REGIONAL_SUBJECT_H_
#define SLUICE_BENCH_REGIONAL_SUBJECT_H_

#include <sluice/limiter.h>

#include <cstdint>
#include <span>
#include <string>

#include "measure/keys.h"

namespace sluice::bench {

inline constexpr const char* kRegion = "bench";

// Long, so that no window ends during a trial: at its end every key has two cells to tell of.
inline constexpr std::chrono::milliseconds kWindow = std::chrono::hours(24);

// How long the end of a trial waits until all is told.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::seconds(120);

// Long, so that a machine which does something else for a moment does not look like an origin that
// is unavailable.
inline constexpr std::chrono::milliseconds kTimeout{2'000};

// Ends the program where there is no such limiter, or where its origin is not there.
Limiter make_limiter(const std::string& origin);

// Its limit is never reached.
Request request_for(const Key& key, std::int64_t cost = 1);

// Whether each of the keys passed.
bool decide_all(Limiter& limiter, std::span<const Key> keys);

UnixTime wall_time();

// Ends the program with this complaint.
[[noreturn]] void give_up(const std::string& why);

// The same for what is nobody's fault: the origin was unavailable for a while, so that what was
// measured means nothing. Whoever started the trial may do so again.
inline constexpr int kDisturbed = 3;
[[noreturn]] void give_up_disturbed();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_REGIONAL_SUBJECT_H_
