// A proxy between nodes and Redis that keeps what nodes send: to hold it back, or to send it again.
#ifndef SLUICE_TESTS_REGIONAL_WIRE_TAP_H_
#define SLUICE_TESTS_REGIONAL_WIRE_TAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::regional_test {

// Listens on a free port of 127.0.0.1, with a thread of its own, and passes bytes on in both
// directions. The connection to Redis stays open when a client ends its own.
//
// Thread-safe.
class WireTap {
  public:
    explicit WireTap(std::uint16_t redis_port);
    ~WireTap();
    WireTap(const WireTap&) = delete;
    WireTap& operator=(const WireTap&) = delete;

    std::uint16_t port() const;
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }

    // Holds back from now on what clients send on the connections that exist.
    void hold();
    std::string held() const;
    // Sends what was held, and holds nothing any more.
    void deliver();
    // Whether Redis has answered all whole commands that it was sent.
    bool is_answered() const;

    // The whole commands that clients have sent, in the order of their arrival.
    std::vector<std::string> commands() const;

  private:
    class Listener;
    std::unique_ptr<Listener> listener_;
};

}  // namespace sluice::regional_test

#endif  // SLUICE_TESTS_REGIONAL_WIRE_TAP_H_
