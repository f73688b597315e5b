#include "global/policy.h"

#include <array>

namespace sluice {
namespace {

// First whether it matters to others: most cells never get that far.
bool publish_from(Count part, Count whole, const CellUse& use) {
    const bool matters = use.has_foreign || Wide{use.regional} * whole >= Wide{use.limit} * part;
    return matters && use.regional > use.last_pushed;
}

}  // namespace

bool publish_from_half(const CellUse& use) {
    return publish_from(1, 2, use);
}

bool publish_from_quarter(const CellUse& use) {
    return publish_from(1, 4, use);
}

bool publish_always(const CellUse& use) {
    return publish_from(0, 1, use);
}

std::span<const NamedPolicy> publish_policies() {
    static constexpr std::array kPolicies = {
        NamedPolicy{"half", publish_from_half},
        NamedPolicy{"quarter", publish_from_quarter},
        NamedPolicy{"always", publish_always},
    };
    return kPolicies;
}

}  // namespace sluice
