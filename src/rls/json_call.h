// The JSON of the rate-limit service: the mapping that protobuf defines for the messages.
#ifndef SLUICE_RLS_JSON_CALL_H_
#define SLUICE_RLS_JSON_CALL_H_

#include <sluice/result.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "rls/messages.h"

namespace sluice::rls {

// A request that owns its texts. Thread-compatible.
struct JsonRequest {
    RateLimitRequest request;
    std::deque<std::string> texts;  // of the request
};

// Decodes a RateLimitRequest. Fields have their protobuf or their JSON name; unknown and repeated
// ones are errors. The error names the field and what is allowed.
[[nodiscard]] std::optional<Error> decode_json(std::string_view body, JsonRequest& decoded);

// Encodes a response. Fields that have their default value are left out.
std::string encode_json(const RateLimitResponse& response);

}  // namespace sluice::rls

#endif  // SLUICE_RLS_JSON_CALL_H_
