// Any bytes are what a gRPC client sends. The same calls must arrive however they are cut into
// pieces, except that nghttp2 notices the end of a session only between two pieces: calls behind it
// may be missing.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "grpc/descriptor_index.h"
#include "grpc/health_service.h"
#include "grpc/reflection_service.h"
#include "grpc/server_session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace sluice::grpc;

// The calls that reach a handler of /t/Say, and whether the session has survived.
struct Log {
    std::vector<std::string> messages;
    bool is_open = true;
};

Log serve(std::string_view bytes, std::size_t piece) {
    static const DescriptorIndex descriptors{embedded_descriptors()};
    Log log;
    MethodRegistry methods;
    HealthService health({""}, [] { return true; });
    health.add_to(methods);
    add_reflection(methods, descriptors);
    methods.add("t", "Say", UnaryHandler([&](UnaryCall& call) {
                    log.messages.emplace_back(call.request().message);
                    call.answer().bytes = call.request().message;
                }));
    SessionContext context{.methods = methods};
    context.limits.message = 4'096;
    context.limits.header_list = 1'024;
    constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();
    sluice::http::Turn turn({.bytes = kEndless, .records = kEndless, .calls = kEndless});
    ServerSession session(context, "192.0.2.1", turn, {});
    std::string out;
    while (!bytes.empty() && log.is_open) {
        const std::string_view part = bytes.substr(0, piece);
        bytes.remove_prefix(part.size());
        log.is_open = session.receive(part, ServerSession::Time{std::chrono::hours{1}});
        SLUICE_CHECK(session.held_bytes() < 16UL * 1024 * 1024);
    }
    // Sent at the end only: what is sent depends on what was received before.
    log.is_open &= session.send(out, 1UL << 24U) && !session.is_finished();
    return log;
}

}  // namespace

// The first byte is the size of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const Log whole = serve(bytes, bytes.size() + 1);
    const Log cut = serve(bytes, std::size_t{data[0]} + 1);
    SLUICE_CHECK(cut.messages.size() <= whole.messages.size());
    SLUICE_CHECK(std::equal(cut.messages.begin(), cut.messages.end(), whole.messages.begin()));
    SLUICE_CHECK(!cut.is_open || cut.messages == whole.messages);
    return 0;
}
