#include "grpc/client/client_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/host_lookup.h"
#include "base/tls_files.h"
#include "base/tls_host.h"

namespace sluice::grpc {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string message_of(int error) {
    return std::generic_category().message(error);
}

// Whether an operation of TLS can go on later.
bool is_pending(int error) {
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

std::string tls_fault(const SSL* tls) {
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    if (const long verdict = SSL_get_verify_result(tls); verdict != X509_V_OK) {
        return std::string("the server's certificate is not accepted: ") +
               X509_verify_cert_error_string(verdict);
    }
    if (code == 0) return "the server closed the connection during the TLS handshake";
    return "the TLS handshake failed: " + internal::openssl_reason(code);
}

bool has_http2(const SSL* tls) {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(tls, &name, &size);
    return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

}  // namespace

ClientSocket::~ClientSocket() {
    if (socket_ >= 0) close(socket_);
}

std::string ClientSocket::connect(const std::string& host,
                                  std::uint16_t port,
                                  milliseconds timeout) {
    const auto unresolved = [&](const std::string& why) {
        return "can't resolve " + host + ": " + why;
    };
    auto lookup = HostLookup::start(host, port);
    if (!lookup) return unresolved(lookup.error().message);
    if (wait_for(lookup->descriptor(), POLLIN, timeout) != Ready::kSocket)
        return unresolved("it takes too long");
    const auto addresses = lookup->take();
    if (!addresses) return unresolved(addresses.error().message);
    std::string why;
    for (const addrinfo* address = addresses->get(); address != nullptr;
         address = address->ai_next) {
        why = connect(*address, timeout);
        if (why.empty()) return why;
    }
    return "can't connect to " + host + ":" + std::to_string(port) + ": " + why;
}

std::string ClientSocket::connect(const addrinfo& address, milliseconds timeout) {
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

std::string ClientSocket::start_tls(const ClientTlsFiles& files,
                                    const std::string& host,
                                    milliseconds timeout) {
    auto context = load_client_tls(files);
    if (!context) return context.error().message;
    context_ = *std::move(context);
    tls_ = {SSL_new(context_.get()), SSL_free};
    if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket_) != 1)
        return "the system refused memory for TLS";
    expect_host(tls_.get(), files.server_name.empty() ? host : files.server_name);
    return shake_hands(timeout);
}

std::string ClientSocket::shake_hands(milliseconds timeout) {
    const auto end = Clock::now() + timeout;
    while (true) {
        ERR_clear_error();
        const int result = SSL_connect(tls_.get());
        if (result == 1) break;
        const int error = SSL_get_error(tls_.get(), result);
        if (!is_pending(error)) return tls_fault(tls_.get());
        const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
        const short events = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        if (left.count() <= 0 || wait(events, left) != Ready::kSocket)
            return "the TLS handshake takes too long";
    }
    return has_http2(tls_.get()) ? "" : "the server does not offer HTTP/2 by ALPN";
}

ClientSocket::Ready ClientSocket::wait(short events, milliseconds timeout) const {
    // TLS may hold bytes that the socket has no more.
    const bool has_bytes = tls_ != nullptr && SSL_pending(tls_.get()) > 0;
    const Ready ready = wait_for(socket_, events, has_bytes ? milliseconds::zero() : timeout);
    return ready == Ready::kTimeout && has_bytes ? Ready::kSocket : ready;
}

ClientSocket::Ready ClientSocket::wait_for(int descriptor,
                                           short events,
                                           milliseconds timeout) const {
    std::array polled{pollfd{descriptor, events, 0}, pollfd{stop_event_, POLLIN, 0}};
    const int count = poll(polled.data(), polled.size(), static_cast<int>(timeout.count()));
    if (polled[1].revents != 0) return Ready::kStopped;
    return count > 0 ? Ready::kSocket : Ready::kTimeout;
}

ssize_t ClientSocket::read(std::span<char> to) {
    if (tls_ != nullptr) {
        ERR_clear_error();
        const int got = SSL_read(tls_.get(), to.data(), static_cast<int>(to.size()));
        if (got > 0) return got;
        return is_pending(SSL_get_error(tls_.get(), got)) ? 0 : -1;
    }
    const ssize_t got = recv(socket_, to.data(), to.size(), 0);
    if (got > 0) return got;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

bool ClientSocket::write(std::string& bytes) {
    while (!bytes.empty()) {
        ssize_t put = 0;
        if (tls_ != nullptr) {
            ERR_clear_error();
            const std::size_t size = std::min<std::size_t>(bytes.size(), 1U << 20U);
            put = SSL_write(tls_.get(), bytes.data(), static_cast<int>(size));
            if (put <= 0) return is_pending(SSL_get_error(tls_.get(), static_cast<int>(put)));
        } else {
            put = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (put < 0) return errno == EAGAIN || errno == EINTR;
        }
        bytes.erase(0, static_cast<std::size_t>(put));
    }
    return true;
}

}  // namespace sluice::grpc
