// The bounds that http/wire holds a client to.
#ifndef SLUICE_HTTP_WIRE_LIMITS_H_
#define SLUICE_HTTP_WIRE_LIMITS_H_

#include <chrono>
#include <cstddef>

namespace sluice::http {

// Everything that a client could make large or long. Counts are those of one listener, which has
// one thread.
struct WireLimits {
    std::size_t header = 16 * 1024;    // request line and fields together; 431 above
    std::size_t body = 1024 * 1024;    // decoded; 413 above
    std::size_t connections = 16'384;  // 503 above
    // Bytes allocated for unfinished requests, unsent answers and TLS records. Above it the
    // connections that hold most are closed.
    std::size_t buffered = 256UL * 1024 * 1024;
    std::size_t pipelined = 64;  // requests answered before their answers must have left

    std::chrono::milliseconds header_timeout{
        10'000};  // from its first byte to its end; TLS handshakes too
    std::chrono::milliseconds body_timeout{30'000};   // from its first byte to its end
    std::chrono::milliseconds idle_timeout{75'000};   // between requests
    std::chrono::milliseconds write_timeout{30'000};  // for the client to take in an answer
    std::chrono::milliseconds linger_timeout{2'000};  // for the client to close after we did
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_LIMITS_H_
