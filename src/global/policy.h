// Which counts of a region are worth telling the other regions.
#ifndef SLUICE_GLOBAL_POLICY_H_
#define SLUICE_GLOBAL_POLICY_H_

#include <span>
#include <string_view>

#include "window/cell.h"

namespace sluice {

// What a region knows of its use of a cell.
struct CellUse {
    Count regional;     // what its nodes have spent
    Count limit;        // that the last request named
    bool has_foreign;   // other regions are known to have spent something in it, too
    Count last_pushed;  // what the last successful publish carried; 0 if there was none
};

// A pure function: the same use always gets the same answer, and what is worth publishing stays so
// while `regional` grows.
using PublishPolicy = bool (*)(const CellUse& use);

// The rule in use: a region tells the others from half of the limit on, or once it knows that it is
// not the only one; and only what it has not told yet.
bool publish_from_half(const CellUse& use);

// Rules to compare it with, in the simulator.
bool publish_from_quarter(const CellUse& use);
bool publish_always(const CellUse& use);

struct NamedPolicy {
    std::string_view name;
    PublishPolicy policy;
};
// The one in use comes first.
std::span<const NamedPolicy> publish_policies();

}  // namespace sluice

#endif  // SLUICE_GLOBAL_POLICY_H_
