// Any bytes are a request of the rate-limit service. What the decoder accepts is within its bounds,
// refers only to the bytes it was given, and is the same after it was encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rls/messages.h"
#include "rls/request_encoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using sluice::rls::RateLimitRequest;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

bool lies_in(std::string_view part, std::string_view whole) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

void check(const RateLimitRequest& request, std::string_view bytes) {
    if (!lies_in(request.domain, bytes)) fail("the domain is not in the message");
    if (request.descriptors.size() > sluice::rls::kMaxDescriptors) fail("too many descriptors");
    std::size_t entries = 0;
    for (const auto& descriptor : request.descriptors) {
        if (descriptor.first_entry != entries) fail("descriptors share entries");
        entries += descriptor.entry_count;
        if (descriptor.entry_count > sluice::rls::kMaxEntriesPerDescriptor)
            fail("too many entries");
    }
    if (entries != request.entries.size()) fail("entries without a descriptor");
    for (const auto& entry : request.entries)
        if (!lies_in(entry.key, bytes) || !lies_in(entry.value, bytes))
            fail("an entry is not in the message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(data, data + size);
    static RateLimitRequest request;
    if (const auto error = decode(bytes, request)) {
        if (error->message.empty()) fail("an error without a message");
        return 0;
    }
    check(request, bytes);
    const std::string again = encode_request(request);
    RateLimitRequest repeated;
    if (decode(again, repeated)) fail("the encoded request is refused");
    if (repeated != request) fail("the encoded request is another one");
    return 0;
}
