#include "window/sliding.h"

#include <algorithm>

namespace sluice {
namespace {

// The smallest `elapsed` at which `ask` passes in a cell that holds `spent`; `duration` if it never
// does there.
Duration first_pass_within(const Spent& spent, Duration duration, const Ask& ask) {
    if (spent.current + ask.cost > ask.limit) return duration;
    if (spent.previous == 0) return Duration::zero();
    // previous * (duration - elapsed) / duration <= slack, solved for the largest weight.
    const Count slack = ask.limit - spent.current - ask.cost;
    const auto whole = static_cast<std::uint64_t>(duration.count());
    const auto weight = static_cast<Wide>(slack) * whole / spent.previous;
    return duration -
           Duration{static_cast<std::int64_t>(std::min(weight, static_cast<Wide>(whole)))};
}

}  // namespace

Count weighted_large(Count previous, std::uint64_t weight, std::uint64_t whole) {
    return static_cast<Count>((Wide{previous} * weight + whole - 1) / whole);
}

std::optional<UnixTime> first_pass(const Held& held,
                                   const Instant& at,
                                   Duration duration,
                                   const Ask& ask) {
    if (ask.cost > ask.limit || ask.limit == 0) return std::nullopt;
    const std::array<Count, 6> cells{held[0], held[1], held[2], held[3], 0, 0};
    Duration earliest = at.elapsed;
    for (std::size_t ahead = 0;; ++ahead) {  // ends: past the held cells nothing is in the way
        const Spent spent{.current = cells[ahead + 1], .previous = cells[ahead]};
        const Duration elapsed = std::max(earliest, first_pass_within(spent, duration, ask));
        if (elapsed < duration) {
            return start_of(at.sequence + static_cast<Sequence>(ahead), duration) + elapsed;
        }
        earliest = Duration::zero();
    }
}

}  // namespace sluice
