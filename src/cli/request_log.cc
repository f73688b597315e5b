#include "cli/request_log.h"

#include <chrono>
#include <string>
#include <utility>

namespace sluice::cli {
namespace {

constexpr std::size_t kLongestPath = 200;

// A client chose the bytes: only visible ASCII enters the log.
std::string visible(std::string_view text) {
    std::string out(text.substr(0, kLongestPath));
    for (char& c : out) {
        if (c <= ' ' || c > '~') c = '?';
    }
    return out;
}

}  // namespace

http::Progress RequestLog::handle(const http::RequestView& request,
                                  http::Reply& reply,
                                  http::Completion later) {
    const auto began = std::chrono::steady_clock::now();
    // The request may be gone when its answer is complete.
    later.watch([this,
                 began,
                 method = visible(request.method),
                 path = visible(request.path),
                 peer = std::string(request.peer)](const http::Reply& answer) {
        const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
            std::chrono::steady_clock::now() - began);
        log_.info("request",
                  {{"method", method},
                   {"path", path},
                   {"status", answer.status()},
                   {"peer", peer},
                   {"microseconds", took.count()}});
    });
    return handler_.handle(request, reply, std::move(later));
}

void RequestLog::protocol_error(int status,
                                std::string_view detail,
                                std::string_view accept,
                                http::Reply& reply) {
    handler_.protocol_error(status, detail, accept, reply);
    log_.info("request_refused", {{"status", status}, {"why", detail}});
}

}  // namespace sluice::cli
