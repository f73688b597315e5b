// The port to what the nodes of a region share: for each cell, one grow-only component per node.
#ifndef SLUICE_REGIONAL_ORIGIN_H_
#define SLUICE_REGIONAL_ORIGIN_H_

#include <sluice/result.h>

#include <compare>
#include <functional>
#include <string>
#include <vector>

#include "window/sliding.h"

namespace sluice {

// A cell as it is named outside of this process.
struct CellName {
    std::string workspace;
    std::string name_space;
    std::string identifier;
    Duration duration;
    Sequence sequence;

    friend auto operator<=>(const CellName&, const CellName&) = default;
};

// This node's component of a cell.
struct CellComponent {
    CellName cell;
    Count own;
};

// What the origin holds of a cell. What is not held counts as 0.
struct CellTotals {
    Count total;  // the components of all nodes, this one's among them
    Count own;
};

// One node's connection to the origin. Every number that goes through it is a component with one
// owner, merged by max: a call may be lost, repeated, delayed or overtaken by another, and the
// counts still come out right.
//
// Calls return at once. Each is answered exactly once, in the order of its cells, or with the
// reason why not, after which it may have been carried out or not.
class Origin {
  public:
    using Answered = std::function<void(Result<std::vector<CellTotals>>)>;

    virtual ~Origin() = default;

    virtual void read(std::vector<CellName> cells, Answered answered) = 0;

    // Lifts this node's components to `own` where they are lower. The totals are those afterwards.
    virtual void raise(std::vector<CellComponent> components, Answered answered) = 0;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_ORIGIN_H_
