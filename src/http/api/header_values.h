// The values of the request headers that the API heeds.
#ifndef SLUICE_HTTP_API_HEADER_VALUES_H_
#define SLUICE_HTTP_API_HEADER_VALUES_H_

#include <sluice/time.h>

#include <optional>
#include <string_view>

namespace sluice::http {

// Content-Type: whether it is application/json, with whatever parameters.
bool is_json(std::string_view content_type);

// Accept: whether it names application/problem+json, and likes it no less than application/json if
// it names both.
bool accepts_problem_json(std::string_view accept);

// Prefer (RFC 7240): whether it asks for status=429.
bool prefers_429(std::string_view prefer);

// Authorization: the token of the scheme Bearer. None for another scheme; empty text for an empty
// token.
std::optional<std::string_view> bearer_token(std::string_view authorization);

// X-Test-Time: milliseconds since 1970, up to 2^53 - 1.
std::optional<UnixTime> test_time(std::string_view value);

}  // namespace sluice::http

#endif  // SLUICE_HTTP_API_HEADER_VALUES_H_
