#include "grpc/client/ads_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"

namespace sluice::grpc {

namespace {

constexpr std::string_view kPath =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

int create_event() {
    const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return event;
}

std::string message_of(int error) {
    return std::generic_category().message(error);
}

}  // namespace

// A non-blocking TCP connection, and the event that interrupts its waits.
class AdsClient::Socket {
  public:
    explicit Socket(int stop_event) : stop_event_(stop_event) {}
    ~Socket() {
        if (socket_ >= 0) close(socket_);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    // Returns why it failed; empty on success.
    std::string connect(const Options& options) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        const std::string port = std::to_string(options.port);
        if (const int error = getaddrinfo(options.host.c_str(), port.c_str(), &hints, &found))
            return "can't resolve " + options.host + ": " + gai_strerror(error);
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
        std::string why;
        for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
            why = connect(*address, options.connect_timeout);
            if (why.empty()) return why;
        }
        return "can't connect to " + options.host + ":" + port + ": " + why;
    }

    enum class Ready { kSocket, kTimeout, kStopped };
    Ready wait(short events, milliseconds timeout) const {
        std::array polled{pollfd{socket_, events, 0}, pollfd{stop_event_, POLLIN, 0}};
        const int count = poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));
        if (polled[1].revents != 0) return Ready::kStopped;
        return count > 0 ? Ready::kSocket : Ready::kTimeout;
    }

    // Bytes, 0 if there are none for now, -1 at the end.
    ssize_t read(std::span<char> to) const {
        const ssize_t got = recv(socket_, to.data(), to.size(), 0);
        if (got > 0) return got;
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    }

    // False at the end. Leaves in `bytes` what the socket does not take.
    bool write(std::string& bytes) const {
        while (!bytes.empty()) {
            const ssize_t put = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (put < 0) return errno == EAGAIN || errno == EINTR;
            bytes.erase(0, static_cast<std::size_t>(put));
        }
        return true;
    }

  private:
    std::string connect(const addrinfo& address, milliseconds timeout) {
        if (socket_ >= 0) close(socket_);
        socket_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (socket_ < 0) return message_of(errno);
        const int on = 1;
        setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (::connect(socket_, address.ai_addr, address.ai_addrlen) == 0) return "";
        if (errno != EINPROGRESS) return message_of(errno);
        if (wait(POLLOUT, timeout) != Ready::kSocket) return "it takes too long";
        int error = 0;
        socklen_t size = sizeof(error);
        getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
        return error == 0 ? "" : message_of(error);
    }

    const int stop_event_;
    int socket_ = -1;
};

AdsClient::AdsClient(Options options, Events events)
    : options_(std::move(options)),
      events_(std::move(events)),
      discovery_(options_.discovery, events_.apply),
      jitter_(system_random()),
      stop_event_(create_event()) {
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        close(stop_event_);
        throw;
    }
}

AdsClient::~AdsClient() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_event_, &one, sizeof(one));
    thread_.join();
    close(stop_event_);
}

void AdsClient::run() {
    milliseconds delay = options_.first_delay;
    while (!is_stopped(milliseconds::zero())) {
        has_response_ = is_malformed_ = false;
        const std::string why = stream();
        if (is_stopped(milliseconds::zero())) return;
        if (events_.on_disconnected) events_.on_disconnected(why);
        if (has_response_) delay = options_.first_delay;
        if (is_stopped(jitter_.up_to(delay))) return;
        delay = std::min(2 * delay, options_.last_delay);
    }
}

bool AdsClient::is_stopped(milliseconds wait) const {
    pollfd polled{stop_event_, POLLIN, 0};
    return poll(&polled, 1, static_cast<int>(wait.count())) > 0;
}

// Runs one stream to its end; returns why it has ended.
std::string AdsClient::stream() {
    Socket socket(stop_event_);
    if (std::string why = socket.connect(options_); !why.empty()) return why;
    ClientSession* opened = nullptr;
    ClientSession session(
        {.authority = options_.host + ":" + std::to_string(options_.port),
         .path = std::string(kPath),
         .max_message = options_.max_message,
         .on_message = [&](std::string_view message) { on_message(message, *opened); }});
    opened = &session;
    session.send(discovery_.start());
    return exchange(socket, session);
}

void AdsClient::on_message(std::string_view message, ClientSession& session) {
    const auto answer = discovery_.on_response(message);
    is_malformed_ |= !answer;
    if (!answer) return;
    session.send(*answer);
    if (!std::exchange(has_response_, true) && events_.on_connected) events_.on_connected();
}

std::string AdsClient::exchange(Socket& socket, ClientSession& session) {
    std::array<char, 16384> input;
    std::string unsent;
    auto last_input = Clock::now();
    while (true) {
        if (!session.take_output(unsent) || !socket.write(unsent)) return "the connection broke";
        if (is_malformed_) return "the server sent a malformed response";
        if (session.end()) return session.end()->message;
        const auto events = static_cast<short>(unsent.empty() ? POLLIN : POLLIN | POLLOUT);
        const Socket::Ready ready = socket.wait(events, options_.ping_interval);
        if (ready == Socket::Ready::kStopped) return "the client stops";
        if (ready == Socket::Ready::kTimeout) {
            if (Clock::now() - last_input >= 2 * options_.ping_interval)
                return "the server does not answer";
            session.ping();
            continue;
        }
        const ssize_t got = socket.read(input);
        if (got < 0) return "the server closed the connection";
        if (got == 0) continue;
        last_input = Clock::now();
        if (!session.receive({input.data(), static_cast<std::size_t>(got)}))
            return "the server does not speak HTTP/2";
    }
}

}  // namespace sluice::grpc
