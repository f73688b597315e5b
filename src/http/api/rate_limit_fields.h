// The rate-limit header fields of an answer to a decision, and when to retry a denial.
#ifndef SLUICE_HTTP_API_RATE_LIMIT_FIELDS_H_
#define SLUICE_HTTP_API_RATE_LIMIT_FIELDS_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <chrono>
#include <cstddef>
#include <span>

#include "http/wire/exchange.h"

namespace sluice::http {

// Adds RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers) for one decision:
//
//     RateLimit-Policy: "default";q=100;w=60
//     RateLimit: "default";r=12;t=37
//
// Times are whole seconds, rounded up, so that a client that waits for them is not too early. A
// structured field holds no integer beyond 15 digits: a larger quota is sent as 999999999999999.
void add_rate_limit_fields(Reply& reply,
                           const Decision& decision,
                           std::chrono::milliseconds duration,
                           UnixTime now);

// Adds Retry-After: seconds until `at`, rounded up, at least 1.
void add_retry_after(Reply& reply, UnixTime at, UnixTime now);

// Returns when to retry after a denial. If the request can never pass, that is the end of its
// window: its limit may have been raised by then, and without any advice a client might retry at
// once.
UnixTime retry_time(const Decision& denial);

// Returns the index of a batch's most restrictive decision: of denials the one with the latest
// retry_time(), else the one with the least remaining. A batch is answered with the fields of that
// one, so that they stay short. `decisions` is not empty.
std::size_t most_restrictive(std::span<const Decision> decisions);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_RATE_LIMIT_FIELDS_H_
