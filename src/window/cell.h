// The units of a window: counts, durations, sequences, and the name of a cell.
#ifndef SLUICE_WINDOW_CELL_H_
#define SLUICE_WINDOW_CELL_H_

#include <sluice/time.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace sluice {

// Counts, costs and limits: whole numbers from 0 to 2^53 - 1, which JSON, Lua and JavaScript carry
// exactly.
using Count = std::uint64_t;

inline constexpr int kCountBits = 53;
inline constexpr Count kMaxCount = (Count{1} << kCountBits) - 1;

// Wide enough for the product of a sum of counts and a duration.
__extension__ using Wide = unsigned __int128;

// Requires both to be at most kMaxCount; the sum is, too.
constexpr Count saturating_add(Count a, Count b) {
    const Count sum = a + b;
    return sum < kMaxCount ? sum : kMaxCount;
}

using Sequence = std::int64_t;  // floor(now / duration)
using Duration = std::chrono::milliseconds;

inline constexpr Duration kMinDuration{1'000};
inline constexpr Duration kMaxDuration{31'622'400'000};  // 366 days

// A point in time relative to the windows of one duration: the cell, and the offset into it.
struct Instant {
    Sequence sequence;
    Duration elapsed;  // 0 to duration - 1 ms
};

// Requires that `now` is not before 1970.
constexpr Instant instant_at(UnixTime now, Duration duration) {
    const Sequence sequence = now.time_since_epoch() / duration;
    return {.sequence = sequence, .elapsed = now.time_since_epoch() - sequence * duration};
}

constexpr UnixTime start_of(Sequence sequence, Duration duration) {
    return UnixTime{sequence * duration};
}

// Whether a cell can no longer contribute to a decision at `now` or later.
constexpr bool is_dead(Sequence sequence, Duration duration, UnixTime now) {
    return now >= start_of(sequence + 2, duration);
}

// A cell as it is named outside of this process.
struct CellName {
    std::string workspace;
    std::string name_space;
    std::string identifier;
    Duration duration;
    Sequence sequence;

    friend auto operator<=>(const CellName&, const CellName&) = default;
};

}  // namespace sluice

#endif  // SLUICE_WINDOW_CELL_H_
