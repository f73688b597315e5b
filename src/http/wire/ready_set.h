// Which sockets of a thread have something to do.
#ifndef SLUICE_HTTP_WIRE_READY_SET_H_
#define SLUICE_HTTP_WIRE_READY_SET_H_

#include <cstdint>
#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace sluice::http {

// An epoll set of its own inside Asio's. Asio's way to wait for a socket costs a system call per
// wait, and so per request: a read that finds nothing, or an epoll_ctl. Here a socket is registered
// once, and waiting costs its system calls once per round of events, however many sockets these are
// for.
//
// Events are edges: each change is told once. Owned by one thread.
class ReadySet {
  public:
    // `on_event` gets the pointer that the socket was added with, and its epoll events. It must
    // stay valid until `after_round`, which says whether Asio has work that should not wait.
    struct Actions {
        std::function<void(void* who, std::uint32_t events)> on_event;
        std::function<void()> before_round;
        std::function<bool()> after_round;
    };

    // Throws boost::system::system_error where the system has no descriptor left.
    ReadySet(boost::asio::io_context& context, Actions actions);

    // Starts to watch `socket`; closing it ends that. False if the system has no memory for it.
    bool add(int socket, void* who);

    // Starts to tell events.
    void wait();

  private:
    enum class Wait : bool { kNo, kBriefly };

    void on_ready();
    bool run_round(Wait wait);

    Actions actions_;
    boost::asio::posix::stream_descriptor epoll_;
    std::shared_ptr<bool> alive_ =
        std::make_shared<bool>(true);  // tells handlers that `this` is gone
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_READY_SET_H_
