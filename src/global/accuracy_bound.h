// The bound on how far all regions together can exceed a limit.
#ifndef SLUICE_GLOBAL_ACCURACY_BOUND_H_
#define SLUICE_GLOBAL_ACCURACY_BOUND_H_

#include <algorithm>
#include <cstdint>

#include "window/cell.h"
#include "window/sharing.h"

namespace sluice {

// With N regions, an admission rate of r per region, a delay D from a pass to its being known in
// all regions, and a largest cost k, at most
//
//     U = 4/3 (N - 1) (r D + k)
//
// passes beyond the limit L: what the other regions spend within D, and the part of their share
// that they keep to themselves meanwhile. If the whole limit can be spent within a few delays,
// N r D > L/4, it is the larger of that and
//
//     (N - 1) (r D + k + L / 2N),
//
// since a region that knows of no other keeps up to half of an even split to itself.
struct AccuracyInput {
    std::uint64_t regions;
    Count limit;
    Duration duration;
    Wide rate_per_day;  // r, in costs per day: no rounding for rates that matter
    Duration delay;     // D
    Count most_cost;    // k
};
constexpr Count over_admission_bound(const AccuracyInput& in) {
    constexpr std::uint64_t kDay = 86'400'000;
    const auto spent = [&](std::uint64_t regions) {  // regions * r * D, rounded up
        const Wide sum = in.rate_per_day * regions * static_cast<std::uint64_t>(in.delay.count());
        return static_cast<Count>(std::min<Wide>((sum + kDay - 1) / kDay, kMaxCount));
    };
    const std::uint64_t others = in.regions - 1;
    const Count first = saturating_add(spent(others), std::min(others * in.most_cost, kMaxCount));
    const Count usual = std::min<Count>(first + first / 3 + (first % 3 != 0 ? 1 : 0), kMaxCount);
    if (Wide{spent(in.regions)} * 4 <= in.limit) return usual;
    const Count alone = static_cast<Count>(Wide{in.limit} * others / (2 * in.regions));
    return std::max(usual, saturating_add(first, alone));
}

// The delay D: a pass is flushed within a region, then published and imported, or announced.
struct DelayInput {
    Duration duration;
    Duration round_trip;  // to the store, or the delay of the bus
    bool has_bus;
    bool has_peers;  // regions have several nodes
};
constexpr Duration delay_between_regions(const DelayInput& in) {
    constexpr Duration kHandedOver{30};
    constexpr Duration kGathered{20};
    constexpr Duration kUrged{200};
    constexpr Duration kImport{12'000};
    const Duration flush = in.has_peers ? flush_within(in.duration) : Duration{0};
    if (in.has_bus) return flush + kGathered + in.round_trip + kHandedOver;
    return flush + kUrged + kImport + 3 * in.round_trip + kHandedOver;
}

}  // namespace sluice

#endif  // SLUICE_GLOBAL_ACCURACY_BOUND_H_
