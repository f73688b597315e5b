// What a listener has seen, for whoever watches it.
#ifndef SLUICE_HTTP_WIRE_COUNTERS_H_
#define SLUICE_HTTP_WIRE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace sluice::http {

// A number that one thread writes and any thread reads. Relaxed is enough: no other memory hangs on
// it, and with one writer a load and a store make an increment.
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

// Aligned, so that the counters of two threads don't share a cache line.
struct alignas(64) WireCounters {
    WireCounter connections;         // open now
    WireCounter accepted;            // connections ever accepted
    WireCounter refused;             // connections answered with 503 or closed at the cap
    WireCounter accept_failures;     // the system had no descriptor or memory for a connection
    WireCounter requests;            // handed to the handler
    WireCounter protocol_errors;     // answers that the handler worded in protocol_error()
    WireCounter shed;                // connections closed to keep within the memory cap
    WireCounter buffered;            // bytes that connections keep in buffers now
    WireCounter timeouts;            // clients too slow with a head, a body or reading an answer
    WireCounter handshake_failures;  // TLS
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_COUNTERS_H_
