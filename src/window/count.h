// Counts, costs and limits: whole numbers from 0 to 2^53 - 1, which JSON, Lua and JavaScript carry
// exactly.
#ifndef SLUICE_WINDOW_COUNT_H_
#define SLUICE_WINDOW_COUNT_H_

#include <cstdint>

namespace sluice {

using Count = std::uint64_t;

inline constexpr int kCountBits = 53;
inline constexpr Count kMaxCount = (Count{1} << kCountBits) - 1;

// Wide enough for the product of a sum of counts and a duration.
__extension__ using Wide = unsigned __int128;

// Both at most kMaxCount, and so is the sum.
constexpr Count saturating_add(Count a, Count b) {
    const Count sum = a + b;
    return sum < kMaxCount ? sum : kMaxCount;
}

}  // namespace sluice

#endif  // SLUICE_WINDOW_COUNT_H_
