#include "regional/origin_cell.h"

#include <algorithm>

namespace sluice {

CellTotals OriginCell::read(const Owner& owner) const {
    const auto found = std::ranges::find(components_, owner, &Component::owner);
    return {.total = total_,
            .own = found == components_.end() ? 0 : found->count,
            .known = known_ > total_ ? known_ : 0};
}

// The base of a node has incarnation 0, and exceeds the late calls of the first one.
bool OriginCell::is_superseded(const Owner& owner) const {
    if (owner.incarnation == 0) return false;
    return std::ranges::any_of(components_, [&](const Component& one) {
        return one.owner.node == owner.node && one.owner.incarnation != 0 &&
               is_newer(one.owner.incarnation, owner.incarnation);
    });
}

// The component of `owner`. A new one supersedes the earlier ones of its node.
OriginCell::Component& OriginCell::enter(const Owner& owner) {
    const auto held = std::ranges::find(components_, owner, &Component::owner);
    if (held != components_.end()) return *held;
    Count earlier = 0;
    std::erase_if(components_, [&](const Component& one) {
        if (one.owner.node != owner.node || owner.incarnation == 0) return false;
        earlier = saturating_add(earlier, one.count);
        return true;
    });
    if (earlier > 0) components_.push_back({.owner = {owner.node, 0}, .count = earlier});
    return components_.emplace_back(Component{.owner = owner, .count = 0});
}

CellTotals OriginCell::lift(const Owner& owner, const CellComponent& called) {
    if (is_superseded(owner)) return read(owner);
    const Count own = read(owner).own;
    if (called.own > own) {
        enter(owner).count = called.own;
        total_ = saturating_add(total_, called.own - own);
    }
    const Count known = saturating_add(called.own, called.peers);
    if (known > total_) known_ = std::max(known_, known);
    return read(owner);
}

}  // namespace sluice
