// Remembers until when the counts that a shard has dropped were in use.
#ifndef SLUICE_COUNTER_FORGOTTEN_COUNTS_H_
#define SLUICE_COUNTER_FORGOTTEN_COUNTS_H_

#include <sluice/time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "window/sliding.h"

namespace sluice {

// An entry that expires takes its counts with it. If the clock then steps back, a new entry of the
// same key must not decide in a window in which the old one held counts. So the shard remembers the
// latest instant until which dropped counts mattered, for each power of two of durations apart: a
// long window that expired says nothing about short ones.
//
// In normal operation that instant is never ahead of the clock. It is only believed by requests
// whose clock is less than two of their windows behind the one that dropped the counts. A clock
// further ahead is taken for a jump (a wrong timestamp, a suspended machine), which must not hold
// back all keys that are new after it.
//
// Thread-compatible: guarded by its shard's lock.
class ForgottenCounts {
  public:
    // Counts of an entry with windows of `duration`, which mattered until `until`, are dropped at
    // `now`.
    void add(Duration duration, UnixTime until, UnixTime now) {
        Record& record = records_[class_of(duration)];
        // For the longest windows that share the record.
        const Duration reach{std::int64_t{2} << class_of(duration)};
        if (record.dropped_at >= now + reach) {
            record = {.until = until, .dropped_at = now};
        } else {
            record = {.until = std::max(record.until, until),
                      .dropped_at = std::max(record.dropped_at, now)};
        }
    }

    // The end of what a new entry with windows of `duration` may have held before, for a request at
    // `now`. The beginning of time if it is not known to have held anything.
    UnixTime until(Duration duration, UnixTime now) const {
        return is_behind(duration, now) ? UnixTime{} : records_[class_of(duration)].until;
    }

    // Whether a request at `now` follows a drop by a clock that was further ahead than that: what
    // was dropped may still have been in use.
    bool is_behind(Duration duration, UnixTime now) const {
        return records_[class_of(duration)].dropped_at >= now + 2 * duration;
    }

  private:
    struct Record {
        UnixTime until;
        UnixTime dropped_at;  // by the clock of the requests that had it dropped
    };

    // Durations below 1 << class_of(duration), and not below half of it, share a record.
    static std::size_t class_of(Duration duration) {
        return static_cast<std::size_t>(
            std::bit_width(static_cast<std::uint64_t>(duration.count())));
    }

    static constexpr std::size_t kClasses = 41;
    static_assert(kMaxDuration < Duration{std::int64_t{1} << (kClasses - 1)});

    std::array<Record, kClasses> records_{};
};

}  // namespace sluice

#endif  // SLUICE_COUNTER_FORGOTTEN_COUNTS_H_
