// An HTTP/1.1 server on one address, for one thread.
#ifndef SLUICE_HTTP_WIRE_LISTENER_H_
#define SLUICE_HTTP_WIRE_LISTENER_H_

#include <sluice/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/wire/counters.h"
#include "http/wire/exchange.h"
#include "http/wire/limits.h"
#include "http/wire/tls.h"

namespace boost::asio {
class io_context;
}

namespace sluice::http {

struct ListenAddress {
    std::string host;  // an IPv4 or IPv6 address, or a name of this machine
    std::uint16_t port = 0;
};

// Finds out whether the port is free, and which one is if it is 0. Listeners share their port with
// each other, so that two servers started by mistake would share it as well; call this once before
// the listeners are made. kInvalidOption: it is taken, or is no address of this machine.
Result<ListenAddress> claim(const ListenAddress& address);

// Each serving thread has an io_context and a listener; the kernel spreads connections over those
// of one address. All calls come from the thread that runs the io_context, or before it runs;
// counters() and any call on the TlsSlot may come from any thread.
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
        std::shared_ptr<const TlsSlot> tls;  // null: plain HTTP
    };

    // The context and the handler must outlive the listener. Throws boost::system::system_error
    // where the system has no descriptor left.
    Listener(boost::asio::io_context& context, Handler& handler, Options options);

    // Closes all connections. Completions that handlers still hold become void.
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    // Binds and starts to accept. Returns the port.
    Result<std::uint16_t> listen(const ListenAddress& address);

    // Stops to accept, closes idle connections, answers what is underway with `Connection: close`,
    // and calls `drained` when all connections are gone: at the latest after `patience`, when the
    // rest is cut. Once only.
    void drain(std::chrono::milliseconds patience, std::function<void()> drained);

    const WireCounters& counters() const;

  private:
    class Core;
    std::shared_ptr<Core> core_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_LISTENER_H_
