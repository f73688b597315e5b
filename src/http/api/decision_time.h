// The time of a decision.
#ifndef SLUICE_HTTP_API_DECISION_TIME_H_
#define SLUICE_HTTP_API_DECISION_TIME_H_

#include <sluice/time.h>

#include "http/api/call.h"

namespace sluice::http {

// Now; or what X-Test-Time says, where the server runs on its requests' clock. A value that is no
// time is added to call.scratch.problems.
UnixTime decision_time(Call& call);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_DECISION_TIME_H_
