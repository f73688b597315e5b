// A proxy between a client and Redis that cuts connections, and delays, repeats and drops messages
// at random.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_PROXY_PROXY_H_
#define SLUICE_TESTS_SUPPORT_REDIS_PROXY_PROXY_H_

#include <cstdint>
#include <memory>

#include "support/redis_proxy/faults.h"

namespace sluice::redis_test {

// Proxy listens on a free port of 127.0.0.1, with a thread of its own, and passes commands and
// replies on. It parses their ends, so that each fault affects one of them. Without faults it
// passes everything unchanged. If the server can't be reached, connections end at once.
//
// Commands are arrays of bulk strings, each with one reply: no subscriptions, no TLS.
//
// Thread-safe.
//
//     Proxy proxy({.server_port = redis.port(), .seed = 1});
//     proxy.set({.cut_before_reply = 0.05, .duplicate_command = 0.05});
//     ... a client works through proxy.port() ...
//     proxy.stop_faults();
//     EXPECT_GT(proxy.counts().cut_before_reply, 0U);
class Proxy {
  public:
    struct Options {
        std::uint16_t server_port;  // on 127.0.0.1
        std::uint64_t seed;
    };

    // Listens when this returns. Throws where there is no port left.
    explicit Proxy(const Options& options);
    ~Proxy();
    Proxy(const Proxy&) = delete;
    Proxy& operator=(const Proxy&) = delete;

    std::uint16_t port() const;

    // Applies to all later commands and replies.
    void set(const Faults& faults);
    // No new faults. Pending delays end in their time, pending replays are dropped. A connection
    // whose replies are swallowed stays like that until the client closes it.
    void stop_faults();

    FaultCounts counts() const;

  private:
    class Listener;
    std::unique_ptr<Listener> listener_;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_PROXY_PROXY_H_
