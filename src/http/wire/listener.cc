#include "http/wire/listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/wire/connection.h"
#include "http/wire/loop_state.h"
#include "http/wire/ready_set.h"

namespace sluice::http {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

// Connections accepted before those that exist get a turn.
constexpr int kAcceptsPerTurn = 64;

// How long to wait before the next accept when the system has no descriptor left.
constexpr milliseconds kAcceptPause{100};

// Connections above the cap are told so, up to this many at a time.
constexpr std::size_t kRefusalsAtATime = 64;

// How much of an answer the kernel holds beyond what the client's window takes in. Without it, that
// would grow to megabytes for each client that reads nothing.
constexpr int kUnsentInKernel = 64 * 1024;

using UnsentInKernel = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
using ReusePort = boost::asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

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

enum class Sharing : bool { kAlone, kShared };

// Opens and binds `acceptor`, and listens.
Result<std::uint16_t> bind(tcp::acceptor& acceptor, const ListenAddress& address, Sharing sharing) {
    auto endpoint =
        resolve(static_cast<boost::asio::io_context&>(acceptor.get_executor().context()), address);
    if (!endpoint) return endpoint.error();
    error_code failure;
    const auto then = [&](auto&& step) {
        if (!failure) step();
    };
    then([&] { acceptor.open(endpoint->protocol(), failure); });
    then([&] { acceptor.set_option(tcp::acceptor::reuse_address(true), failure); });
    if (sharing == Sharing::kShared) {
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

// Often enough for the shortest timeout, and no more than that.
milliseconds tick_of(const WireLimits& limits) {
    const milliseconds shortest = std::min({limits.header_timeout,
                                            limits.body_timeout,
                                            limits.idle_timeout,
                                            limits.write_timeout,
                                            limits.linger_timeout});
    return std::clamp(shortest / 4, milliseconds{5}, milliseconds{1'000});
}

}  // namespace

Result<ListenAddress> claim(const ListenAddress& address) {
    boost::asio::io_context context(1);
    tcp::acceptor acceptor(context);
    const auto port = bind(acceptor, address, Sharing::kAlone);
    if (!port) return port.error();
    return ListenAddress{address.host, *port};
}

// Held by shared_ptr, so that a handler that Asio still holds can find out that it is gone.
class Listener::Core : public std::enable_shared_from_this<Core> {
    // Wraps `act` for Asio: it does nothing on failure, on cancellation and when the listener is
    // gone.
    template <class Act>
    auto guard(Act act) {
        return [alive = weak_from_this(), act = std::move(act)](const error_code& failure) {
            if (failure) return;
            if (const std::shared_ptr<Core> self = alive.lock()) act();
        };
    }

  public:
    Core(boost::asio::io_context& context, Handler& handler, Options options)
        : context_(context),
          tls_(std::move(options.tls)),
          tick_(tick_of(options.limits)),
          acceptor_(context),
          timer_(context),
          deadline_(context),
          bench_(handler, options.limits, [this] { post_queue(); }),
          ready_(context,
                 {.on_event = [](void* who, std::uint32_t events) { on_event(who, events); },
                  .before_round = [this] { bench_.set_time(); },
                  .after_round =
                      [this] {
                          after_round();
                          // Answers that are to come do so by way of Asio.
                          return !bench_.has_queue() && bench_.awaited == 0;
                      }}) {}

    Result<std::uint16_t> listen(const ListenAddress& address) {
        auto port = bind(acceptor_, address, Sharing::kShared);
        if (!port) return port;
        ready_.wait();
        wait_for_connections();
        wait_for_tick();
        return port;
    }

    void drain(milliseconds patience, std::function<void()> drained) {
        drained_ = std::move(drained);
        bench_.set_time();
        // Whoever the kernel has accepted for us is served.
        if (acceptor_.is_open()) accept_all();
        bench_.is_draining = true;
        error_code ignored;
        acceptor_.close(ignored);
        bench_.timeout_list.for_each([](auto& connection) { connection->on_drain(); });
        deadline_.expires_after(patience);
        deadline_.async_wait(guard([this] {
            bench_.timeout_list.for_each([](auto& connection) { connection->close(); });
            after_round();
        }));
        after_round();
    }

    const WireCounters& counters() const { return bench_.counters; }

  private:
    static void on_event(void* who, std::uint32_t events) {
        constexpr std::uint32_t kHungUp = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
        static_cast<Connection*>(who)->on_ready(
            {.readable = (events & (EPOLLIN | kHungUp)) != 0, .hung_up = (events & kHungUp) != 0});
    }

    void after_round() {
        bench_.clear_graveyard();
        if (!bench_.is_draining || bench_.timeout_list.size() != 0 || drained_ == nullptr) return;
        deadline_.cancel();
        timer_.cancel();
        // From the event loop, so that the callee may destroy the listener.
        boost::asio::post(context_, std::exchange(drained_, nullptr));
    }

    void post_queue() {
        boost::asio::post(context_, [alive = weak_from_this()] {
            const std::shared_ptr<Core> self = alive.lock();
            if (self == nullptr) return;
            self->bench_.run_queue();
            self->after_round();
        });
    }

    void wait_for_tick() {
        timer_.expires_after(tick_);
        timer_.async_wait(guard([this] {
            bench_.set_time();
            bench_.timeout_list.expire(bench_.now,
                                       [](auto& connection) { connection->on_timeout(); });
            bench_.shed_load();
            if (tls_ != nullptr) tls_->current()->expire_ticket_keys();
            after_round();
            if (!bench_.is_draining || bench_.timeout_list.size() != 0) wait_for_tick();
        }));
    }

    void wait_for_connections() {
        acceptor_.async_wait(tcp::acceptor::wait_read, guard([this] {
                                 if (!acceptor_.is_open()) return;
                                 bench_.set_time();
                                 if (accept_all()) {
                                     wait_for_connections();
                                 } else {
                                     pause_accepting();
                                 }
                             }));
    }

    // False if the system has no room for a connection.
    bool accept_all() {
        for (int i = 0; i < kAcceptsPerTurn; ++i) {
            sockaddr_storage address{};
            socklen_t size = sizeof(address);
            const int socket = accept4(acceptor_.native_handle(),
                                       reinterpret_cast<sockaddr*>(&address),
                                       &size,
                                       SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (socket >= 0) {
                welcome(socket, address);
            } else if (errno == EAGAIN) {
                break;
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                bench_.counters.accept_failures.add(1);
                return false;
            }
            // Anything else is an error of the connection, which is gone.
        }
        bench_.clear_graveyard();
        return true;
    }

    void pause_accepting() {
        auto pause = std::make_shared<boost::asio::steady_timer>(context_, kAcceptPause);
        pause->async_wait(guard([this, pause] {
            if (acceptor_.is_open()) wait_for_connections();
        }));
    }

    void welcome(int socket, const sockaddr_storage& address) {
        const std::size_t open = bench_.timeout_list.size();
        if (open >= bench_.limits.connections) {
            bench_.counters.refused.add(1);
            // The refusal of a TLS connection would first need a handshake.
            if (tls_ != nullptr || open >= bench_.limits.connections + kRefusalsAtATime) {
                ::close(socket);
                return;
            }
        }
        PeerText text{};
        // The connection keeps its context, even if another one takes its place.
        const auto tls = tls_ == nullptr ? nullptr : tls_->current();
        Connection* connection = Connection::open(bench_,
                                                  {.socket = socket,
                                                   .tls = tls == nullptr ? nullptr : tls->native(),
                                                   .peer = text_of(address, text)});
        bench_.counters.accepted.add(1);
        if (!ready_.add(socket, connection)) return connection->close();
        if (open >= bench_.limits.connections) {
            connection->refuse({503, "The server has too many connections."});
        }
    }

    boost::asio::io_context& context_;
    const std::shared_ptr<const TlsSlot> tls_;
    const milliseconds tick_;
    tcp::acceptor acceptor_;
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer deadline_;
    LoopState bench_;
    ReadySet ready_;
    std::function<void()> drained_;
};

Listener::Listener(boost::asio::io_context& context, Handler& handler, Options options)
    : core_(std::make_shared<Core>(context, handler, std::move(options))) {}

Listener::~Listener() = default;

Result<std::uint16_t> Listener::listen(const ListenAddress& address) {
    return core_->listen(address);
}

void Listener::drain(std::chrono::milliseconds patience, std::function<void()> drained) {
    core_->drain(patience, std::move(drained));
}

const WireCounters& Listener::counters() const {
    return core_->counters();
}

}  // namespace sluice::http
