// The arithmetic of a sliding window over fixed cells. Pure functions of integers: no state, no
// clock.
//
// For a request at `now`, with e = now mod duration:
//
//     effective = current + previous * (duration - e) / duration + cost
//     passed    iff effective <= limit
//
// The comparison is exact. All its terms but one are whole numbers, so comparing the exact sum with
// the limit is the same as comparing the sum whose weighted term is rounded *up*. Everything below
// rounds up, and one division serves the verdict and the remainder.
#ifndef SLUICE_WINDOW_SLIDING_H_
#define SLUICE_WINDOW_SLIDING_H_

#include <sluice/time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "window/count.h"

namespace sluice {

using Sequence = std::int64_t;  // floor(now / duration)
using Duration = std::chrono::milliseconds;

inline constexpr Duration kMinDuration{1'000};
inline constexpr Duration kMaxDuration{31'622'400'000};  // 366 days

// A point of time as a window sees it: which cell, and how far into it.
struct Instant {
    Sequence sequence;
    Duration elapsed;  // 0 to duration - 1 ms
};

// `now` is not before 1970.
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

// What is asked for: `cost` of `limit`.
struct Ask {
    Count cost;
    Count limit;
};

// What a decision weighs: the counts of a cell and of the one before, each a sum of up to three
// components.
struct Spent {
    Count current;
    Count previous;
};

struct Verdict {
    bool passed;
    Count remaining;  // the largest cost that would pass afterwards; 0 on a denial
};

// The product of a count of this many bits and a duration, and a duration more, fit into 64 bits.
inline constexpr int kNarrowBits = 29;
static_assert(kMaxDuration.count() < (std::int64_t{1} << (64 - kNarrowBits)));

// previous * weight / whole, rounded up, for any `previous` that is a sum of counts.
Count weighted_large(Count previous, std::uint64_t weight, std::uint64_t whole);

// The part of `previous` that still lies within the sliding window, rounded up.
inline Count weighted(Count previous, Duration elapsed, Duration duration) {
    const auto whole = static_cast<std::uint64_t>(duration.count());
    const auto weight = static_cast<std::uint64_t>((duration - elapsed).count());
    if (previous == 0) return 0;
    if (previous >> kNarrowBits == 0) return (previous * weight + whole - 1) / whole;
    return weighted_large(previous, weight, whole);
}

// May `ask` be spent on top of `spent`? A limit of 0 always denies, even a cost of 0.
inline Verdict weigh(const Spent& spent, Duration elapsed, Duration duration, const Ask& ask) {
    const Count effective = spent.current + weighted(spent.previous, elapsed, duration) + ask.cost;
    if (effective > ask.limit || ask.limit == 0) return {.passed = false, .remaining = 0};
    return {.passed = true, .remaining = ask.limit - effective};
}

// The cells that matter to a denied request: the previous one, the current one, and what the two
// that follow hold already (they do after a clock that stepped back, or by a neighbour whose clock
// is ahead).
using Held = std::array<Count, 4>;

// The first millisecond, from `at` on, at which `ask` would pass if nothing else were spent. None
// if it never would.
std::optional<UnixTime> first_pass(const Held& held,
                                   const Instant& at,
                                   Duration duration,
                                   const Ask& ask);

}  // namespace sluice

#endif  // SLUICE_WINDOW_SLIDING_H_
