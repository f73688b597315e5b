// The system's wall clock, coarse and exact.
#ifndef SLUICE_BASE_CLOCK_H_
#define SLUICE_BASE_CLOCK_H_

#include <sluice/time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace sluice {

// How far the coarse clock may lag behind the exact one: a scheduler tick is 1 to 10 ms on Linux,
// and is late on a busy machine.
inline constexpr std::chrono::milliseconds kCoarseClockLag{20};

namespace internal {

// clock_gettime() where the kernel has put it. The C library's function of that name only passes
// the call on, for a thirtieth of what a decision costs.
using ReadClock = int (*)(clockid_t id, timespec* time);
extern std::atomic<ReadClock> kernel_clock;  // relaxed: either of the two it holds will do

[[gnu::always_inline]] inline UnixTime read_clock(clockid_t id) {
    timespec time;
    kernel_clock.load(std::memory_order_relaxed)(id, &time);
    const auto nanoseconds = static_cast<std::uint32_t>(time.tv_nsec);
    return UnixTime{std::chrono::milliseconds{time.tv_sec * 1000 + nanoseconds / 1'000'000}};
}

}  // namespace internal

// Takes a few nanoseconds; up to kCoarseClockLag behind.
inline UnixTime coarse_wall_time() {
    return internal::read_clock(CLOCK_REALTIME_COARSE);
}

// Several times as slow as the coarse one.
inline UnixTime exact_wall_time() {
    return internal::read_clock(CLOCK_REALTIME);
}

}  // namespace sluice

#endif  // SLUICE_BASE_CLOCK_H_
