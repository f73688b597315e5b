#include "support/http_connection.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::server_test {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error("connection: " + what);
}

enum class Window { kOrdinary, kSmall };

int connected_socket(std::uint16_t port, Window window = Window::kOrdinary) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int smallest = 1;
    if (window == Window::kSmall)
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &smallest, sizeof smallest);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(socket);
        fail("connect: " + std::string(std::strerror(errno)));
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

SSL* new_session(const TlsDemand& demand, int socket) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_locations(context, demand.trusted.c_str(), nullptr);
    if (demand.version != 0) {
        SSL_CTX_set_min_proto_version(context, demand.version);
        SSL_CTX_set_max_proto_version(context, demand.version);
        SSL_CTX_set_security_level(context,
                                   0);  // old versions are offered; the server must refuse them
    }
    SSL* session = SSL_new(context);
    SSL_CTX_free(context);
    if (!demand.alpn.empty()) {
        const std::string offer = static_cast<char>(demand.alpn.size()) + demand.alpn;
        SSL_set_alpn_protos(session,
                            reinterpret_cast<const unsigned char*>(offer.data()),
                            static_cast<unsigned>(offer.size()));
    }
    if (!demand.ciphers.empty()) SSL_set_cipher_list(session, demand.ciphers.c_str());
    if (!demand.certificate.empty()) {
        SSL_use_certificate_file(session, demand.certificate.c_str(), SSL_FILETYPE_PEM);
        SSL_use_PrivateKey_file(session, demand.key.c_str(), SSL_FILETYPE_PEM);
    }
    SSL_set_fd(session, socket);
    return session;
}

}  // namespace

Connection::Connection(std::uint16_t port) : Connection(Socket{connected_socket(port)}) {}

Connection::Connection(Socket socket) : socket_(socket.descriptor), tls_(nullptr, SSL_free) {}

Connection::Connection(std::uint16_t port, const TlsDemand& demand) : Connection(port) {
    tls_.reset(new_session(demand, socket_));
    if (SSL_connect(tls_.get()) != 1) fail("the TLS handshake failed");
}

Connection Connection::with_small_window(std::uint16_t port) {
    return Connection(Socket{connected_socket(port, Window::kSmall)});
}

Connection::Connection(Connection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      tls_(std::move(other.tls_)),
      received_(std::move(other.received_)) {}

Connection::~Connection() {
    if (socket_ >= 0) ::close(socket_);
}

void Connection::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent =
            tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                 : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) fail("send: " + std::string(std::strerror(errno)));
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool Connection::try_send(std::string_view bytes) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 || errno == EAGAIN;
}

// By the queues of both ends as the kernel shows them: what is neither in ours nor in the server's
// was read.
bool Connection::await_read() const {
    sockaddr_in own{};
    sockaddr_in peer{};
    socklen_t size = sizeof own;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size);
    size = sizeof peer;
    ::getpeername(socket_, reinterpret_cast<sockaddr*>(&peer), &size);
    const auto queued = [](const sockaddr_in& here, const sockaddr_in& there) {
        std::ifstream table("/proc/net/tcp");
        std::string line;
        while (std::getline(table, line)) {
            unsigned from = 0;
            unsigned to = 0;
            unsigned unsent = 0;
            unsigned unread = 0;
            const int fields = std::sscanf(
                line.c_str(), " %*u: %*8x:%x %*8x:%x %*x %x:%x", &from, &to, &unsent, &unread);
            if (fields == 4 && from == ntohs(here.sin_port) && to == ntohs(there.sin_port))
                return std::pair(unsent, unread);
        }
        return std::pair(1U, 1U);
    };
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (queued(own, peer).first != 0 || queued(peer, own).second != 0) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

void Connection::finish_sending() const {
    ::shutdown(socket_, SHUT_WR);
}

Answer Connection::receive(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        if (auto answer = take_answer(received_)) return *std::move(answer);
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (!read_more(left)) fail("closed before a whole answer came; it sent: " + received_);
    }
}

std::string Connection::receive_some(std::chrono::milliseconds timeout) {
    if (received_.empty() && !read_more(timeout)) fail("the connection has ended");
    return std::exchange(received_, {});
}

std::string Connection::receive_rest(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (read_more(std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now()))) {
    }
    return std::exchange(received_, {});
}

bool Connection::stays_silent(std::chrono::milliseconds time) {
    return received_.empty() && !wait_readable(time);
}

std::string Connection::tls_version() const {
    return SSL_get_version(tls_.get());
}

std::string Connection::alpn() const {
    const unsigned char* name = nullptr;
    unsigned length = 0;
    SSL_get0_alpn_selected(tls_.get(), &name, &length);
    return {reinterpret_cast<const char*>(name), length};
}

std::string Connection::subject() const {
    X509* certificate = SSL_get1_peer_certificate(tls_.get());
    std::array<char, 256> text{};
    X509_NAME_oneline(
        X509_get_subject_name(certificate), text.data(), static_cast<int>(text.size()));
    X509_free(certificate);
    return text.data();
}

bool Connection::wait_readable(std::chrono::milliseconds timeout) const {
    pollfd wanted{socket_, POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(std::max<long>(timeout.count(), 0))) > 0;
}

// A reset counts as an end: a server that refuses what it was sent may close before having read it.
bool Connection::read_more(std::chrono::milliseconds timeout) {
    const bool pending = tls_ && SSL_pending(tls_.get()) > 0;
    if (!pending && !wait_readable(timeout)) fail("nothing came in time; so far: " + received_);
    std::array<char, 16384> buffer;
    const ssize_t count = tls_
                              ? SSL_read(tls_.get(), buffer.data(), static_cast<int>(buffer.size()))
                              : ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (count <= 0) return false;
    received_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
}

}  // namespace sluice::server_test
