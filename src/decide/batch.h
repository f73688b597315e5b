// Batches: several requests that pass together or not at all.
#ifndef SLUICE_DECIDE_BATCH_H_
#define SLUICE_DECIDE_BATCH_H_

#include <sluice/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "counter/table.h"
#include "decide/single.h"

namespace sluice {

// Decides a valid batch. None if the sharing rule leaves it to the origin: nothing was spent then,
// and `stale` gets the requests that have to be read from it first.
//
// Each request is admitted by itself, in an order that is the same for all batches, until one is
// denied. Then all are settled, or all that were admitted are undone. Admitted counts never exceed
// the limit, not even for a moment, and undone costs were never settled: so no batch can leak
// (invariants 3 and 4).
//
// Without `callers_time`, the system's clock is read: the coarse one where that is good enough (see
// SystemTime).
std::optional<BatchDecision> decide_batch(Table& table,
                                          std::span<const Request> requests,
                                          std::optional<UnixTime> callers_time,
                                          SharingRule rule,
                                          std::vector<std::size_t>* stale = nullptr);

}  // namespace sluice

#endif  // SLUICE_DECIDE_BATCH_H_
