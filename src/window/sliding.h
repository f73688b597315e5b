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
#include <cstdint>
#include <optional>

#include "window/cell.h"

namespace sluice {

// A cost that a request would spend, and the limit it has to fit.
struct Ask {
    Count cost;
    Count limit;
};

// The counts of a cell and of the one before, each a sum of up to three components.
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

// The counts that a denied request depends on: of the previous cell, the current one, and the two
// that follow. Those may hold counts after a clock stepped back, or from a node whose clock is
// ahead.
using Held = std::array<Count, 4>;

// The first millisecond, from `at` on, at which `ask` would pass if nothing else were spent. None
// if it never would.
std::optional<UnixTime> first_pass(const Held& held,
                                   const Instant& at,
                                   Duration duration,
                                   const Ask& ask);

}  // namespace sluice

#endif  // SLUICE_WINDOW_SLIDING_H_
