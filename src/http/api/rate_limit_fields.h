// The header fields by which HTTP itself speaks of rate limits.
#ifndef SLUICE_HTTP_API_RATE_LIMIT_FIELDS_H_
#define SLUICE_HTTP_API_RATE_LIMIT_FIELDS_H_

#include <sluice/limiter.h>
#include <sluice/time.h>

#include <chrono>
#include <span>

#include "http/wire/exchange.h"

namespace sluice::http {

// Adds RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers) for one decision:
//
//     RateLimit-Policy: "default";q=100;w=60
//     RateLimit: "default";r=12;t=37
//
// Times are whole seconds, rounded up, so that who waits for them is not too early. A structured
// field holds no integer beyond 15 digits: a larger quota is told as 999999999999999.
void add_rate_limit_fields(Reply& reply,
                           const Decision& decision,
                           std::chrono::milliseconds duration,
                           UnixTime now);

// Adds Retry-After: seconds until `at`, rounded up, at least 1.
void add_retry_after(Reply& reply, UnixTime at, UnixTime now);

// When to ask again after a denial. One that can never pass is told to come back when its window
// ends: its limit may have been raised by then, and no advice at all would have it come back at
// once.
UnixTime retry_time(const Decision& denial);

// The decision of a batch that holds back most: of denials the one with the latest retry_time(),
// else the one with the least remaining. A batch has one pair of fields, for that one, so that they
// stay short whatever was asked. `decisions` is not empty.
std::size_t most_restrictive(std::span<const Decision> decisions);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_RATE_LIMIT_FIELDS_H_
