// The heaviest keys of the last minute, ten minutes and hour.
#ifndef SLUICE_INSIGHT_KEY_WINDOWS_H_
#define SLUICE_INSIGHT_KEY_WINDOWS_H_

#include <sluice/time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "insight/key_sketch.h"

namespace sluice::insight {

enum class Window { kMinute, kTenMinutes, kHour };
inline constexpr std::size_t kWindows = 3;
inline constexpr std::array<std::chrono::milliseconds, kWindows> kWindowLengths = {
    std::chrono::minutes{1}, std::chrono::minutes{10}, std::chrono::hours{1}};

constexpr std::chrono::milliseconds length_of(Window window) {
    return kWindowLengths[static_cast<std::size_t>(window)];
}

// Sums weights by key over each Window, which is divided into slices of a twelfth with a sketch
// each. A window covers the current slice and the twelve before it: between its length and a
// twelfth more.
//
// At most kSliceKeys are held for a slice. So the sums are too low by at most 2 W / kSliceKeys for
// a window with a total of W, and what the sketches that were added had missed.
//
// Thread-compatible. The time is the caller's, and should not go back.
class KeyWindows {
  public:
    static constexpr std::size_t kSlices = 13;
    static constexpr std::size_t kSliceKeys = 512;

    KeyWindows();

    // Adds the weights of about one second. `interval` is that at which they were sampled.
    void add(const KeySketch& batch, std::uint64_t interval, UnixTime now);

    struct Sums {
        std::unordered_map<std::uint64_t, KeySketch::Entry> by_key;
        std::uint64_t error = 0;     // each sum, 0 where there is none, is too low by at most this
        std::uint64_t interval = 1;  // the largest at which weights were sampled
        UnixTime since{};            // when the first slice begins
    };
    Sums sums(Window window, UnixTime now) const;

    // When the first slice of a window begins.
    static UnixTime start_of(Window window, UnixTime now);

  private:
    struct Slice {
        std::int64_t index = -1;   // the time since 1970 in slices
        std::uint64_t missed = 0;  // by the sketches that were added
        std::uint64_t interval = 1;
        KeySketch sketch{kSliceKeys};
    };
    using Ring = std::vector<Slice>;  // kSlices of them; that of an index is at index % kSlices

    std::array<Ring, kWindows> rings_;
};

}  // namespace sluice::insight

#endif  // SLUICE_INSIGHT_KEY_WINDOWS_H_
