#include "decide/local_rule.h"

namespace sluice {

LocalVerdict apply_rule(const Entry& entry, const LocalPass& pass) {
    const UnixTime refreshed = entry.refreshed_at();
    if (refreshed == Entry::kNever) return LocalVerdict::kAskOrigin;
    const bool is_young = refreshed != Entry::kNotYoung &&
                          std::chrono::abs(pass.now - refreshed) <= max_view_age(entry.duration());
    return decide_locally({.nodes = pass.nodes,
                           .is_young = is_young,
                           .unsynced = entry.unsynced(pass.at.sequence, pass.own) + pass.ask.cost,
                           .remaining = pass.remaining,
                           .limit = pass.ask.limit});
}

}  // namespace sluice
