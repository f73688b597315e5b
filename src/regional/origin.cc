#include "regional/origin.h"

#include <algorithm>

namespace sluice {
namespace {

// All that counts in a cell beside this node's component.
Count spent_by_peers(const KeySpend& spend, const CellTotals& held, std::size_t cell) {
    const Count peers =
        std::max(held.spent() - std::min(held.own, held.spent()), spend.components.peers[cell]);
    return saturating_add(peers, spend.extra[cell]);
}

}  // namespace

KeyGrants decide_at_origin(const KeySpend& spend, const KeyTotals& held) {
    KeyGrants grants{.totals = held, .granted = {}};
    grants.granted.reserve(spend.requests.size());
    CellTotals& current = grants.totals[0];
    const Duration duration = spend.components.current.duration;
    const Count peers = spent_by_peers(spend, held[0], 0);
    const Count previous = saturating_add(spent_by_peers(spend, held[1], 1), held[1].own);
    Count used = spend.components.own[0];  // of this node's component, by what it has admitted
    for (const auto& [elapsed, ask] : spend.requests) {
        const Spent spent{.current = saturating_add(peers, used), .previous = previous};
        const bool passes = weigh(spent, elapsed, duration, ask).passed;
        grants.granted.push_back(passes);
        if (!passes) continue;
        used = saturating_add(used, ask.cost);
        if (used <= current.own) continue;
        current.total = saturating_add(current.total, used - current.own);
        current.own = used;
    }
    return grants;
}

}  // namespace sluice
