// Debits: costs that are spent whatever the limit.
#ifndef SLUICE_DECIDE_DEBIT_H_
#define SLUICE_DECIDE_DEBIT_H_

#include <sluice/time.h>
#include <sluice/types.h>

#include "counter/table.h"

namespace sluice {

// Adds the cost of a valid request to its key, whatever the limit, and decides by local counts
// whether it would have passed. The count saturates at 2^53 - 1. The cost is settled as that of a
// pass, and flushed next where there is an origin. Of a debit that did not fit, `retry_at` is when
// the same request would pass after this one.
//
// Not on the path of ordinary requests. Throws std::bad_alloc; nothing was spent then. Takes an
// EpochPin itself.
Decision debit(Table& table, const Request& request, UnixTime now);

}  // namespace sluice

#endif  // SLUICE_DECIDE_DEBIT_H_
