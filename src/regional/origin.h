// The port to what the nodes of a region share: for each cell, one grow-only component per owner.
#ifndef SLUICE_REGIONAL_ORIGIN_H_
#define SLUICE_REGIONAL_ORIGIN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "window/cell_name.h"
#include "window/sliding.h"

namespace sluice {

// Which of this node's entries a component comes from. A key that was evicted and came back has
// another incarnation, and another component: what the first one told stays told, and nobody has to
// remember how much that was.
using Incarnation = std::uint32_t;

// A question after a cell.
struct CellQuestion {
    CellName cell;
    Incarnation incarnation;
};

// This node's component of a cell.
struct CellComponent {
    CellName cell;
    Incarnation incarnation;
    Count own;
    // How long the cell still matters, from now on; more than 0.
    Duration lifetime;
    // An origin that holds this component already need not look at its lifetime.
    bool has_lifetime = false;
};

// What the origin holds of a cell. What is not held counts as 0.
struct CellTotals {
    Count total;  // the components of all owners, this one among them
    Count own;    // that of this node's incarnation
};

// None where the origin did not answer for a cell. What was asked may have been done or not.
using CellAnswer = std::optional<CellTotals>;

// All that the origin holds of a cell, for a person who wants to know.
struct CellListing {
    struct Component {
        std::string owner;
        Count count;
    };
    Count total = 0;
    std::vector<Component> components;
    Duration lifetime{0};  // when the origin forgets it, from now on; 0 if it holds nothing
};

// What an origin tells of itself. It is away from the start until it says `back` for the first
// time.
struct OriginEvents {
    // It answers again. `remembers` is false where it may have lost what it held before.
    std::function<void(bool remembers)> back;
    // It does not answer any more. `why` is for people, and holds no secret. Told again, while it
    // is away, where the reason changes.
    std::function<void(const std::string& why)> away;
    // It answers, but has lost what it held.
    std::function<void()> forgot;
};

// One node's connection to the origin. Every number that goes through it is a component with one
// owner, merged by max: a call may be lost, repeated, delayed or overtaken by another, and the
// counts still come out right.
//
// Calls return at once. Each is answered exactly once, in the order of its cells, within the
// origin's timeout, and at once while it is away. An answer may come before the call returns.
//
// Owned by one thread, on which answers and events come as well. Destroying it answers nothing.
class Origin {
  public:
    using Answered = std::function<void(std::vector<CellAnswer>)>;
    using Listed = std::function<void(std::vector<std::optional<CellListing>>)>;

    virtual ~Origin() = default;

    // Once, before any call. Events may come before it returns.
    virtual void start(OriginEvents events) = 0;

    virtual void read(std::vector<CellQuestion> cells, Answered answered) = 0;

    // Lifts this node's components to `own` where they are lower. The totals are those afterwards.
    // A component of 0 creates nothing, and so asks only.
    virtual void raise(std::vector<CellComponent> components, Answered answered) = 0;

    virtual void list(std::vector<CellName> cells, Listed listed) = 0;

    // How listings name the owner of this node's components, less what tells incarnations apart.
    virtual std::string node() const = 0;
};

// How a listing names the owner of a component.
inline std::string owner_name(const std::string& node, Incarnation incarnation) {
    return incarnation == 0 ? node : node + "." + std::to_string(incarnation);
}

}  // namespace sluice

#endif  // SLUICE_REGIONAL_ORIGIN_H_
