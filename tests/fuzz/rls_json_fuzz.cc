// Any bytes are the body of a JSON request of the rate-limit service. What is accepted is within
// the bounds, and means the same as the protobuf message with these fields.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rls/json_call.h"
#include "rls/request_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice::rls;
    const std::string body(data, data + size);
    JsonRequest decoded;
    if (decode_json(body, decoded)) return 0;
    const std::string bytes = encode_request(decoded.request);
    RateLimitRequest repeated;
    if (bytes.size() > kMaxRequestBytes) return 0;  // escapes in JSON are shorter than lengths
    if (decode(bytes, repeated) || repeated != decoded.request) {
        std::fprintf(stderr, "the message differs: %s\n", body.c_str());
        std::abort();
    }
    return 0;
}
