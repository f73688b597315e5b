#include "http/wire/listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <arpa/inet.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/wire/connection.h"
#include "http/wire/loop_state.h"

namespace sluice::http {

namespace {

using boost::asio::ip::tcp;
using boost::asio::posix::stream_descriptor;
using boost::system::error_code;
using std::chrono::milliseconds;

// Connections accepted before existing ones get a turn.
constexpr int kAcceptsPerTurn = 64;

// The wait before the next accept when the system has no descriptor left.
constexpr milliseconds kAcceptPause{100};

// Connections above the cap that are answered with 503 at the same time; further ones are closed.
constexpr std::size_t kRefusalsAtATime = 64;

// Bytes of an answer that the kernel holds beyond the client's window. Without a limit, that would
// grow to megabytes for each client that reads nothing.
constexpr int kUnsentInKernel = 64 * 1024;

using UnsentInKernel = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
using ReusePort = boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

// Any later time is as good, and this one can be added to.
constexpr std::chrono::milliseconds kLatestTick{std::chrono::milliseconds::max() / 2'000'000};

constexpr int kEventsPerRound = 128;

// Under load the next events follow soon after a round. Waiting for them here briefly saves the
// system calls of a wait through Asio, about one per request. In return Asio's other work, such as
// a timer, may be late by the product of the two.
constexpr int kRoundsPerWait = 8;
constexpr std::timespec kRoundWait{.tv_sec = 0, .tv_nsec = 50'000};

Error listen_error(const ListenAddress& address, const error_code& failure) {
    return {
        kInvalidOption,
        "listen " + address.host + ":" + std::to_string(address.port) + ": " + failure.message()};
}

Result<tcp::endpoint> resolve(boost::asio::io_context& context, const ListenAddress& address) {
    error_code failure;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(
        address.host, std::to_string(address.port), tcp::resolver::passive, failure);
    if (failure || found.empty()) return listen_error(address, failure);
    return found.begin()->endpoint();
}

enum class PortUse : bool { kExclusive, kShared };

// Opens and binds `acceptor`, and listens.
Result<std::uint16_t> bind(tcp::acceptor& acceptor, const ListenAddress& address, PortUse use) {
    auto endpoint =
        resolve(static_cast<boost::asio::io_context&>(acceptor.get_executor().context()), address);
    if (!endpoint) return endpoint.error();
    error_code failure;
    const auto then = [&](auto&& step) {
        if (!failure) step();
    };
    then([&] { acceptor.open(endpoint->protocol(), failure); });
    then([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), failure); });
    if (use == PortUse::kShared) {
        then([&] { acceptor.set_option(ReusePort(true), failure); });
    }
    // Connections inherit these two from their listener.
    then([&] { acceptor.set_option(tcp::no_delay(true), failure); });
    then([&] { acceptor.set_option(UnsentInKernel(kUnsentInKernel), failure); });
    then([&] { acceptor.non_blocking(true, failure); });
    then([&] { acceptor.bind(*endpoint, failure); });
    then([&] { acceptor.listen(SOMAXCONN, failure); });
    if (failure) return listen_error(address, failure);
    return acceptor.local_endpoint().port();
}

// Makes `acceptor` accept on a copy of the address's socket, which listens already.
Result<std::uint16_t> adopt(tcp::acceptor& acceptor, const ListenAddress& address) {
    const auto protocol = address.host.find(':') == std::string::npos ? tcp::v4() : tcp::v6();
    error_code failure;
    const auto then = [&](auto&& step) {
        if (!failure) step();
    };
    const int copy = fcntl(address.socket, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return listen_error(address, {errno, boost::system::system_category()});
    then([&] { acceptor.assign(protocol, copy, failure); });
    if (failure) ::close(copy);
    then([&] { acceptor.set_option(tcp::no_delay(true), failure); });
    then([&] { acceptor.set_option(UnsentInKernel(kUnsentInKernel), failure); });
    then([&] { acceptor.non_blocking(true, failure); });
    if (failure) return listen_error(address, failure);
    return acceptor.local_endpoint().port();
}

using PeerText = std::array<char, INET6_ADDRSTRLEN>;

std::string_view text_of(const sockaddr_storage& address, PeerText& text) {
    const void* bytes = nullptr;
    if (address.ss_family == AF_INET) {
        bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    } else if (address.ss_family == AF_INET6) {
        bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    }
    if (bytes == nullptr ||
        inet_ntop(address.ss_family, bytes, text.data(), INET6_ADDRSTRLEN) == nullptr)
        return "";
    return text.data();
}

// A quarter of the shortest timeout, within 5 ms and 1 s.
milliseconds tick_of(const WireLimits& limits) {
    const milliseconds shortest = std::min({limits.header_timeout,
                                            limits.body_timeout,
                                            limits.idle_timeout,
                                            limits.write_timeout,
                                            limits.linger_timeout});
    return std::clamp(shortest / 4, milliseconds{5}, milliseconds{1'000});
}

int create_epoll() {
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        throw boost::system::system_error(errno, boost::system::system_category(), "epoll_create1");
    }
    return epoll;
}

// The connected sockets of a thread, in an epoll set of its own inside Asio's. Asio's async_wait
// makes an epoll_ctl per wait, and async_read_some needs an input buffer for each connection. Here
// a socket is registered once, and a buffer is needed only while a connection has its turn
// (docs/decisions/0008-ready-set.md).
//
// Edge-triggered: each change is reported once. Owned by one thread.
class ReadySet {
  public:
    // `on_event` gets the pointer that the socket was added with, which must stay valid until
    // `after_round`, and its epoll events. `after_round` returns true if Asio's other work can
    // wait.
    struct Actions {
        std::function<void(void* owner, std::uint32_t events)> on_event;
        std::function<void()> before_round;
        std::function<bool()> after_round;
    };

    // Throws boost::system::system_error where the system has no descriptor left.
    ReadySet(boost::asio::io_context& context, Actions actions);

    // Watches `socket` until it is closed. False if the system has no memory for it.
    bool add(int socket, void* owner);

    // Starts to report events.
    void wait();

  private:
    enum class Wait : bool { kNo, kBriefly };

    void on_ready();
    bool run_round(Wait wait);

    Actions actions_;
    stream_descriptor epoll_;
    // Expires with `this`, for handlers that Asio still holds.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

ReadySet::ReadySet(boost::asio::io_context& context, Actions actions)
    : actions_(std::move(actions)), epoll_(context, create_epoll()) {}

bool ReadySet::add(int socket, void* owner) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = owner;
    return epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event) == 0;
}

void ReadySet::wait() {
    const std::weak_ptr<bool> alive = alive_;
    epoll_.async_wait(stream_descriptor::wait_read, [this, alive](const error_code& failure) {
        if (!failure && !alive.expired()) on_ready();
    });
}

void ReadySet::on_ready() {
    Wait wait = Wait::kNo;
    for (int round = 0; round < kRoundsPerWait && run_round(wait); ++round)
        wait = Wait::kBriefly;
    this->wait();
}

// Returns true if there were events and Asio's other work can wait.
bool ReadySet::run_round(Wait wait) {
    std::array<epoll_event, kEventsPerRound> events;
    const int epoll = epoll_.native_handle();
    // A kernel without epoll_pwait2() fails it, which leaves the waiting to Asio.
    const int count =
        wait == Wait::kNo
            ? epoll_wait(epoll, events.data(), kEventsPerRound, 0)
            : epoll_pwait2(epoll, events.data(), kEventsPerRound, &kRoundWait, nullptr);
    if (count <= 0) return false;
    actions_.before_round();
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        actions_.on_event(event.data.ptr, event.events);
    }
    return actions_.after_round();
}

}  // namespace

Result<ListenAddress> claim(const ListenAddress& address) {
    if (address.socket >= 0) return address;
    boost::asio::io_context context(1);
    tcp::acceptor acceptor(context);
    const auto port = bind(acceptor, address, PortUse::kExclusive);
    if (!port) return port.error();
    return ListenAddress{.host = address.host, .port = *port};
}

// The listener's sockets, timers and connections. Held by shared_ptr, so that a handler that Asio
// still holds can detect its end.
class Listener::EventLoop : public std::enable_shared_from_this<EventLoop> {
    // Wraps `act` for Asio: does nothing on failure, on cancellation and after the listener's end.
    template <class Act>
    auto guard(Act act) {
        return [alive = weak_from_this(), act = std::move(act)](const error_code& failure) {
            if (failure) return;
            if (const std::shared_ptr<EventLoop> self = alive.lock()) act();
        };
    }

  public:
    EventLoop(boost::asio::io_context& context, std::unique_ptr<Protocol> protocol, Options options)
        : context_(context),
          protocol_(std::move(protocol)),
          tls_(std::move(options.tls)),
          tick_(tick_of(options.limits)),
          acceptor_(context),
          timer_(context),
          deadline_(context),
          loop_(options.limits, [this] { post_queue(); }),
          ready_(context,
                 {.on_event = [](void* owner, std::uint32_t events) { on_event(owner, events); },
                  .before_round = [this] { loop_.set_time(); },
                  .after_round =
                      [this] {
                          after_round();
                          // Deferred answers arrive through Asio.
                          return !loop_.has_queue() && loop_.deferred == 0;
                      }}) {
        loop_.on_tick_at = [this] { wait_for_tick(); };
    }

    Result<std::uint16_t> listen(const ListenAddress& address) {
        auto port = address.socket >= 0 ? adopt(acceptor_, address)
                                        : bind(acceptor_, address, PortUse::kShared);
        if (!port) return port;
        ready_.wait();
        wait_for_connections();
        wait_for_tick();
        return port;
    }

    void drain(milliseconds timeout, std::function<void()> drained) {
        drained_ = std::move(drained);
        loop_.set_time();
        // Connections that the kernel has accepted are served. It queues no more.
        if (acceptor_.is_open()) accept_up_to(SOMAXCONN);
        loop_.is_draining = true;
        error_code ignored;
        acceptor_.close(ignored);
        loop_.timeout_list.for_each([](auto& connection) { connection->on_drain(); });
        deadline_.expires_after(timeout);
        deadline_.async_wait(guard([this] {
            loop_.timeout_list.for_each([](auto& connection) { connection->close(); });
            after_round();
        }));
        after_round();
    }

    const WireCounters& counters() const { return loop_.counters; }

  private:
    static void on_event(void* owner, std::uint32_t events) {
        constexpr std::uint32_t kHungUp = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
        static_cast<SocketConnection*>(owner)->on_ready(
            {.readable = (events & (EPOLLIN | kHungUp)) != 0, .hung_up = (events & kHungUp) != 0});
    }

    void after_round() {
        loop_.delete_closed();
        if (!loop_.is_draining || loop_.timeout_list.size() != 0 || drained_ == nullptr) return;
        deadline_.cancel();
        timer_.cancel();
        // Posted, so that the callee may destroy the listener.
        boost::asio::post(context_, std::exchange(drained_, nullptr));
    }

    void post_queue() {
        boost::asio::post(context_, [alive = weak_from_this()] {
            const std::shared_ptr<EventLoop> self = alive.lock();
            if (self == nullptr) return;
            self->loop_.run_queue();
            self->after_round();
        });
    }

    // May be called again, for an earlier tick.
    void wait_for_tick() {
        const auto regular = std::chrono::steady_clock::now() + tick_;
        const std::chrono::steady_clock::time_point wanted{std::min(loop_.next_tick, kLatestTick) +
                                                           loop_.resolution()};
        timer_.expires_at(std::min(regular, wanted));
        timer_.async_wait(guard([this] {
            loop_.set_time();
            loop_.next_tick = milliseconds::max();
            loop_.timeout_list.expire(loop_.now,
                                      [](auto& connection) { connection->on_timeout(); });
            protocol_->on_tick(loop_);
            loop_.shed_load();
            if (tls_ != nullptr) tls_->current()->expire_ticket_keys();
            after_round();
            if (!loop_.is_draining || loop_.timeout_list.size() != 0) wait_for_tick();
        }));
    }

    void wait_for_connections() {
        acceptor_.async_wait(tcp::acceptor::wait_read, guard([this] {
                                 if (!acceptor_.is_open()) return;
                                 loop_.set_time();
                                 if (accept_up_to(kAcceptsPerTurn)) {
                                     wait_for_connections();
                                 } else {
                                     pause_accepting();
                                 }
                             }));
    }

    // False if the system has no descriptor or memory for a connection.
    bool accept_up_to(int most) {
        for (int i = 0; i < most; ++i) {
            sockaddr_storage address{};
            socklen_t size = sizeof(address);
            const int socket = accept4(acceptor_.native_handle(),
                                       reinterpret_cast<sockaddr*>(&address),
                                       &size,
                                       SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (socket >= 0) {
                open_connection(socket, address);
            } else if (errno == EAGAIN) {
                break;
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                loop_.counters.accept_failures.add(1);
                return false;
            }
            // Other errors are those of a connection that has already ended.
        }
        loop_.delete_closed();
        return true;
    }

    void pause_accepting() {
        auto pause = std::make_shared<boost::asio::steady_timer>(context_, kAcceptPause);
        pause->async_wait(guard([this, pause] {
            if (acceptor_.is_open()) wait_for_connections();
        }));
    }

    void open_connection(int socket, const sockaddr_storage& address) {
        const std::size_t open = loop_.make_room();
        if (open >= loop_.limits.connections) {
            loop_.counters.refused.add(1);
            // Answering a TLS connection would need a handshake first.
            if (tls_ != nullptr || open >= loop_.limits.connections + kRefusalsAtATime) {
                ::close(socket);
                return;
            }
        }
        PeerText text{};
        // The connection keeps its context if that is replaced.
        const auto tls = tls_ == nullptr ? nullptr : tls_->current();
        SocketConnection* connection = SocketConnection::open(
            protocol_->connect(loop_,
                               {.socket = socket,
                                .tls = tls == nullptr ? nullptr : tls->native(),
                                .peer = text_of(address, text)}));
        loop_.counters.accepted.add(1);
        if (!ready_.add(socket, connection)) return connection->close();
        if (open >= loop_.limits.connections) connection->refuse();
    }

    boost::asio::io_context& context_;
    const std::unique_ptr<Protocol> protocol_;
    const std::shared_ptr<const TlsSlot> tls_;
    const milliseconds tick_;
    tcp::acceptor acceptor_;
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer deadline_;
    LoopState loop_;
    ReadySet ready_;
    std::function<void()> drained_;
};

Listener::Listener(boost::asio::io_context& context, Handler& handler, Options options)
    : Listener(context, std::make_unique<HttpProtocol>(handler), std::move(options)) {}

Listener::Listener(boost::asio::io_context& context,
                   std::unique_ptr<Protocol> protocol,
                   Options options)
    : event_loop_(std::make_shared<EventLoop>(context, std::move(protocol), std::move(options))) {}

Listener::~Listener() = default;

Result<std::uint16_t> Listener::listen(const ListenAddress& address) {
    return event_loop_->listen(address);
}

void Listener::drain(std::chrono::milliseconds timeout, std::function<void()> drained) {
    event_loop_->drain(timeout, std::move(drained));
}

const WireCounters& Listener::counters() const {
    return event_loop_->counters();
}

}  // namespace sluice::http
