// When a limit is so far that other nodes need not know soon what was spent of it.
#ifndef SLUICE_WINDOW_FAR_H_
#define SLUICE_WINDOW_FAR_H_

#include "window/count.h"

namespace sluice {

// Of a smaller limit, a few requests elsewhere may make the difference: it is never far.
inline constexpr Count kSmallLimit = 256;

// Whether so little of `limit` is spent, on this node and as it knows of the others, that it may
// take its time to tell them: even if dozens of nodes have spent as much, most of it is left.
constexpr bool is_far(Count remaining, Count limit) {
    return limit >= kSmallLimit && remaining >= limit - limit / 64;
}

}  // namespace sluice

#endif  // SLUICE_WINDOW_FAR_H_
