// Limits on what a client may use, and the counters of a listener.
#ifndef SLUICE_HTTP_WIRE_LIMITS_H_
#define SLUICE_HTTP_WIRE_LIMITS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "http/wire/turn.h"

namespace sluice::http {

// Limits on everything that a client could make large or slow. They apply to one listener, that is,
// to one thread.
struct WireLimits {
    std::size_t header = 16 * 1024;  // request line and fields together; 431 above
    std::size_t body = 1024 * 1024;  // decoded; 413 above
    // Above it an idle connection is closed; 503 if there is none.
    std::size_t connections = 16'384;
    // Bytes allocated for unfinished requests, unsent answers and TLS records. Above it the
    // connections that hold the most are closed.
    std::size_t buffered = 256UL * 1024 * 1024;
    TurnLimits turn{};

    // For a head, from its first byte to its end; for a new connection until the first byte of its
    // first request, with the TLS handshake.
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds body_timeout{30'000};   // from its first byte to its end
    std::chrono::milliseconds idle_timeout{75'000};   // between requests
    std::chrono::milliseconds write_timeout{30'000};  // for the client to receive an answer
    std::chrono::milliseconds linger_timeout{2'000};  // for the client to close after we did
};

// A number that one thread writes and any thread reads. Relaxed is enough: it publishes no other
// memory, and with a single writer a load and a store make an increment.
class WireCounter {
  public:
    void add(std::int64_t amount) {
        value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
    std::int64_t get() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::int64_t> value_{0};
};

// Counters of one listener. Aligned, so that the counters of two threads don't share a cache line.
struct alignas(64) WireCounters {
    WireCounter connections;      // open now
    WireCounter accepted;         // connections ever accepted
    WireCounter refused;          // connections answered with 503 or closed at the cap
    WireCounter evicted;          // idle connections closed at the cap to admit new ones
    WireCounter accept_failures;  // the system had no descriptor or memory for a connection
    WireCounter requests;         // handed to the handler
    WireCounter protocol_errors;  // answers that the handler wrote in protocol_error()
    WireCounter shed;             // connections closed to keep within the memory cap
    WireCounter buffered;         // bytes that connections keep in buffers now
    WireCounter timeouts;         // clients too slow to send a head or a body, or to read an answer
    WireCounter handshake_failures;  // TLS
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_LIMITS_H_
