// A listener: accepts the connections of one thread on one address.
#ifndef SLUICE_HTTP_WIRE_LISTENER_H_
#define SLUICE_HTTP_WIRE_LISTENER_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/wire/exchange.h"
#include "http/wire/limits.h"
#include "http/wire/tls.h"

namespace boost::asio {
class io_context;
}

namespace sluice::http {

class Protocol;

struct ListenAddress {
    std::string host;  // an IPv4 or IPv6 address, or a name of this machine
    std::uint16_t port = 0;
    // A socket that listens there already, opened by another process; negative: none. Listeners use
    // copies, and may share one.
    int socket = -1;
};

// Checks that the port is free, and picks one if it is 0. Call this once before creating the
// listeners: they share their port with each other (SO_REUSEPORT), so that two servers started by
// mistake would share it as well. An address with a socket is returned as it is. kInvalidOption: it
// is taken, or is no address of this machine.
Result<ListenAddress> claim(const ListenAddress& address);

// Each serving thread has an io_context and a listener; the kernel distributes connections over the
// listeners of one address. Calls must come from the thread that runs the io_context, or before it
// runs, except that counters() and the TlsSlot are thread-safe.
//
//     const auto address = claim({.host = "127.0.0.1", .port = 8080});
//     boost::asio::io_context context(1);
//     Listener listener(context, handler, {.limits = limits});
//     if (auto port = listener.listen(*address); !port) fail(port.error().message);
//     context.run();
class Listener {
  public:
    struct Options {
        WireLimits limits;
        std::shared_ptr<const TlsSlot> tls;  // null: plain text
    };

    // Serves HTTP/1.1. The context and the handler must outlive the listener. Throws
    // boost::system::system_error if the system has no descriptor left.
    Listener(boost::asio::io_context& context, Handler& handler, Options options);
    // Serves another protocol.
    Listener(boost::asio::io_context& context, std::unique_ptr<Protocol> protocol, Options options);

    // Closes all connections. Completions that handlers still hold have no effect.
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // Binds, unless the address has a socket, and starts accepting. Returns the port.
    Result<std::uint16_t> listen(const ListenAddress& address);

    // Stops accepting, closes idle connections, completes requests in progress, which HTTP/1.1
    // answers with `Connection: close`, and calls `drained` when all connections have ended. After
    // `timeout` it closes those that remain. May be called once.
    void drain(std::chrono::milliseconds timeout, std::function<void()> drained);

    const WireCounters& counters() const;

  private:
    class EventLoop;
    std::shared_ptr<EventLoop> event_loop_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_LISTENER_H_
