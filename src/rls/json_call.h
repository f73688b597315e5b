// The rate-limit service over HTTP: the JSON of `/json`, and `/healthcheck`. Pure functions of
// texts; the JSON is the mapping that protobuf defines for the messages.
#ifndef SLUICE_RLS_JSON_CALL_H_
#define SLUICE_RLS_JSON_CALL_H_

#include <sluice/result.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "rls/messages.h"
#include "rls/rate_limiter.h"

namespace sluice::rls {

// A request that owns its texts. Thread-compatible.
struct JsonRequest {
    RateLimitRequest request;
    std::deque<std::string> texts;  // of the request
};

// Decodes a RateLimitRequest. Fields have their protobuf or their JSON name; unknown and repeated
// ones are errors. The error names the field and what is allowed.
[[nodiscard]] std::optional<Error> decode_json(std::string_view body, JsonRequest& decoded);

// An answer over HTTP.
struct HttpAnswer {
    int status;
    std::string_view content_type;
    std::string body;
};

// The answer of `/json`: 200, 429 over a limit, 400 for an error. Fields that have their default
// value are left out.
HttpAnswer json_answer(const Answer& answer);
HttpAnswer json_error(const Error& error);

// The state that `/healthcheck` depends on.
struct Health {
    bool is_draining;
    bool has_rules;
    bool needs_rules;  // healthy only with rules, as HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED asks
};

bool is_healthy(const Health& health);
// 200 with "OK", or 500.
HttpAnswer health_answer(const Health& health);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_JSON_CALL_H_
