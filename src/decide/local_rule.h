// The sharing rule (window/sharing.h) applied to an entry.
#ifndef SLUICE_DECIDE_LOCAL_RULE_H_
#define SLUICE_DECIDE_LOCAL_RULE_H_

#include <sluice/time.h>

#include "counter/entry.h"
#include "window/sharing.h"
#include "window/sliding.h"

namespace sluice {

// A request that would pass by the counts of an entry.
struct LocalPass {
    Instant at;
    UnixTime now;
    Ask ask;
    Spent own;        // this node's counts of the two cells, before the request
    Count remaining;  // after the request
    NodeCount nodes;
};

// The rule in full.
LocalVerdict apply_rule(const Entry& entry, const LocalPass& pass);

// Whether `pass` may be decided from local memory. A key with a young view of which this node has
// spent little, synced or not, takes a few comparisons and no further line of the cache.
[[gnu::always_inline]] inline LocalVerdict may_pass_locally(const Entry& entry, LocalPass pass) {
    const auto milliseconds = [](UnixTime time) {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    };
    // Unsigned: large for a view that was never read, or lies ahead.
    const std::uint64_t age = milliseconds(pass.now) - milliseconds(entry.refreshed_at());
    const bool is_young = age <= static_cast<std::uint64_t>(kMaxViewAge.count()) &&
                          age * kViewParts <= static_cast<std::uint64_t>(entry.duration().count());
    const Wide spent = Wide{pass.own.current + pass.own.previous + pass.ask.cost};
    if (is_young && pass.nodes != kUnknownNodes &&
        spent * (2 * kShareParts * pass.nodes) <= pass.remaining) [[likely]]
        return LocalVerdict::kPass;
    return apply_rule(entry, pass);
}

}  // namespace sluice

#endif  // SLUICE_DECIDE_LOCAL_RULE_H_
