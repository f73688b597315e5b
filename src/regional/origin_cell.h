// A cell at an origin that lives in memory, and the rule by which calls change it. The scripts in
// regional/redis implement the same rule.
#ifndef SLUICE_REGIONAL_ORIGIN_CELL_H_
#define SLUICE_REGIONAL_ORIGIN_CELL_H_

#include <cstdint>
#include <vector>

#include "regional/origin.h"

namespace sluice {

// A node has one live component in a cell, that of its newest incarnation; the counts of earlier
// ones are added up in its base. So a cell grows with the lives of nodes, not with evictions, and a
// late call of an earlier incarnation is recognised.
//
// Components only grow, and so does `known`, each merged by max from numbers that were true when
// they were sent. So a call that arrives late, again, or after the cell was lost never makes a cell
// hold more than was spent.
//
// Thread-compatible.
class OriginCell {
  public:
    using NodeId = std::uint64_t;
    struct Owner {
        NodeId node;
        Incarnation incarnation;
        friend bool operator==(const Owner&, const Owner&) = default;
    };
    struct Component {
        Owner owner;
        Count count;
    };

    // The counts as `owner` sees them, without a change.
    CellTotals read(const Owner& owner) const;

    // Lifts the component of `owner` to `called.own`, and what is known to have been spent to that
    // and the count of its peers, and returns the counts afterwards. A call of an incarnation that
    // is superseded changes nothing.
    CellTotals lift(const Owner& owner, const CellComponent& called);

    // Whether the cell has a component of a later incarnation of the same node.
    bool is_superseded(const Owner& owner) const;

    // What was spent at least.
    Count spent() const { return known_ > total_ ? known_ : total_; }
    // An incarnation of 0 is the node's first one, or its base.
    const std::vector<Component>& components() const { return components_; }

  private:
    Component& enter(const Owner& owner);

    Count total_ = 0;  // the sum of the components
    // The most that a node knew to have been spent, if that was ever more than the total.
    Count known_ = 0;
    std::vector<Component> components_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_ORIGIN_CELL_H_
