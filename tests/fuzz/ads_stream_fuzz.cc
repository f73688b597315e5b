// Any bytes are what an ADS server sends: first as HTTP/2, then as a discovery response.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "grpc/client/client_session.h"
#include "grpc/client/discovery.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace sluice::grpc;

constexpr std::size_t kMaxMessage = 4'096;

Discovery discovery() {
    return Discovery({.node_id = "n", .type_url = "t"},
                     {.apply = [](std::span<const std::string_view> resources) {
                         return resources.empty() ? std::optional<std::string>("none")
                                                  : std::nullopt;
                     }});
}

void read_stream(std::string_view bytes) {
    Discovery responses = discovery();
    ClientSession session({.authority = "h:1",
                           .path = "/a/B",
                           .max_message = kMaxMessage,
                           .on_message = [&](std::string_view message) {
                               SLUICE_CHECK(message.size() <= kMaxMessage);
                               static_cast<void>(responses.on_response(message));
                           }});
    std::string out;
    if (!session.take_output(out)) return;
    if (session.receive(bytes)) session.take_output(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    read_stream(bytes);
    Discovery responses = discovery();
    const auto answer = responses.on_response(bytes);
    // A version is in force only if the response was accepted.
    SLUICE_CHECK(answer || responses.version().empty());
    return 0;
}
