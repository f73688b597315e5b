// The rate-limit service over HTTP: `/json`, as envoyproxy/ratelimit serves it.
#ifndef SLUICE_SERVER_RATE_LIMIT_ROUTES_H_
#define SLUICE_SERVER_RATE_LIMIT_ROUTES_H_

#include <functional>

#include "http/api/call.h"
#include "rls/rate_limiter.h"

namespace sluice::server {

// Returns the function that answers `/json` on one serving thread, with a rate limiter of its own:
// 200, 429 over a limit, 400 for a request that is not valid. A token must cover the domain of the
// request, in the workspace of the rate-limit service; else 403. What `parts` refers to must
// outlive the function.
std::function<void(http::Call&)> rate_limit_route(const rls::ServiceParts& parts);

}  // namespace sluice::server

#endif  // SLUICE_SERVER_RATE_LIMIT_ROUTES_H_
