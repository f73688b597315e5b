// The rule by which an origin decides requests that wait for a key.
#ifndef SLUICE_REGIONAL_GRANT_H_
#define SLUICE_REGIONAL_GRANT_H_

#include <array>
#include <vector>

#include "regional/origin.h"

namespace sluice {

// Decides the requests of `spend` in order, at an origin that holds `held` after this node's
// components were lifted. A request passes if its cost fits the sliding window on top of all that
// was spent and granted before it. Returns the totals with what was granted added to the current
// cell; the caller stores them.
//
// A component above what this node has spent is credit: an earlier call granted it and its answer
// was lost. Requests use it up before the component grows. Credit in the previous cell counts as
// spent: the answer to a call made at the end of that window may still be on its way.
//
// The script in regional/redis does the same.
KeyGrants decide_at_origin(const KeySpend& spend, const KeyTotals& held);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_GRANT_H_
