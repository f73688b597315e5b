// The decision as the definition has it: obviously right, and of no other use.
#ifndef SLUICE_SIM_NAIVE_H_
#define SLUICE_SIM_NAIVE_H_

#include <cstdint>

#include "window/cell.h"

namespace sluice::sim {

struct NaiveQuestion {
    Count current;
    Count previous;
    std::int64_t elapsed_ms;
    std::int64_t duration_ms;
    Count cost;
    Count limit;
};

// current + previous * (duration - elapsed) / duration + cost <= limit, multiplied by the duration
// so that nothing is rounded.
inline bool naive_pass(const NaiveQuestion& q) {
    if (q.limit == 0) return false;
    const Wide duration = static_cast<std::uint64_t>(q.duration_ms);
    const Wide weight = static_cast<std::uint64_t>(q.duration_ms - q.elapsed_ms);
    return (Wide{q.current} + q.cost) * duration + Wide{q.previous} * weight <=
           Wide{q.limit} * duration;
}

}  // namespace sluice::sim

#endif  // SLUICE_SIM_NAIVE_H_
