#include "http/wire/transport.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <new>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/wire/tls.h"

namespace sluice::http {

namespace {

bool is_temporary(int error) {
    return error == EAGAIN || error == EINTR;
}

// Allocations of OpenSSL 3.0, measured with CRYPTO_set_mem_functions().
constexpr std::size_t kHandshakeBytes = 56UL * 1024;
constexpr std::size_t kRecordBytes = 17UL * 1024;

int clamp_to_int(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

// A socket BIO. OpenSSL's own raises SIGPIPE, and does not report whether a read has emptied the
// socket, which costs a system call per request.
struct SocketBio {
    static BIO* create(Transport* transport) {
        static BIO_METHOD* const method = create_method();
        BIO* bio = BIO_new(method);
        if (bio == nullptr) throw std::bad_alloc();
        BIO_set_data(bio, transport);
        BIO_set_init(bio, 1);
        return bio;
    }

  private:
    static BIO_METHOD* create_method() {
        BIO_METHOD* method =
            BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice socket");
        if (method == nullptr) throw std::bad_alloc();
        BIO_meth_set_read(method, read);
        BIO_meth_set_write(method, write);
        BIO_meth_set_ctrl(method, control);
        return method;
    }

    static int read(BIO* bio, char* to, int size) {
        auto* transport = static_cast<Transport*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        const ssize_t got = recv(transport->socket_, to, static_cast<std::size_t>(size), 0);
        transport->is_drained_ = got < size;
        if (got < 0 && is_temporary(errno)) BIO_set_retry_read(bio);
        return static_cast<int>(got);
    }

    static int write(BIO* bio, const char* from, int size) {
        const auto* transport = static_cast<Transport*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        const ssize_t put =
            send(transport->socket_, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
        if (put < 0 && is_temporary(errno)) BIO_set_retry_write(bio);
        return static_cast<int>(put);
    }

    static long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
        return command == BIO_CTRL_FLUSH ? 1 : 0;
    }
};

Transport::Transport(int socket, SSL_CTX* tls, Alpn alpn) : socket_(socket) {
    if (tls == nullptr) return;
    tls_ = SSL_new(tls);
    if (tls_ == nullptr) {
        close(socket_);
        throw std::bad_alloc();
    }
    BIO* bio = SocketBio::create(this);
    SSL_set_bio(tls_, bio, bio);
    SSL_set_accept_state(tls_);
    offer_alpn(tls_, alpn);
}

Transport::~Transport() {
    SSL_free(tls_);
    close(socket_);
}

std::size_t Transport::buffer_bytes() const {
    if (tls_ == nullptr || SSL_in_before(tls_) != 0) return 0;
    if (SSL_is_init_finished(tls_) == 0) return kHandshakeBytes;
    // "RB": the header of a record has been read, and its body is awaited.
    const bool reads = SSL_has_pending(tls_) != 0 || SSL_rstate_string(tls_)[1] == 'B';
    const bool writes = SSL_want_write(tls_) != 0;
    return (reads ? kRecordBytes : 0) + (writes ? kRecordBytes : 0);
}

Transport::Outcome Transport::tls_outcome(int result) {
    switch (SSL_get_error(tls_, result)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return Outcome::kBlocked;
        case SSL_ERROR_SSL:
        case SSL_ERROR_SYSCALL:
            is_broken_ = true;
            [[fallthrough]];
        default:
            ERR_clear_error();
            return Outcome::kClosed;
    }
}

Transport::Outcome Transport::handshake() {
    if (tls_ == nullptr || SSL_is_init_finished(tls_) != 0) return Outcome::kMoved;
    const int result = SSL_do_handshake(tls_);
    return result == 1 ? Outcome::kMoved : tls_outcome(result);
}

Transport::Transfer Transport::read(std::span<char> to) {
    if (tls_ != nullptr) {
        const int got = SSL_read(tls_, to.data(), clamp_to_int(to.size()));
        if (got <= 0) return {.outcome = tls_outcome(got)};
        return {.outcome = Outcome::kMoved,
                .bytes = static_cast<std::size_t>(got),
                .is_exhausted = is_drained_ && SSL_has_pending(tls_) == 0};
    }
    const ssize_t got = recv(socket_, to.data(), to.size(), 0);
    if (got > 0) {
        const auto bytes = static_cast<std::size_t>(got);
        return {.outcome = Outcome::kMoved, .bytes = bytes, .is_exhausted = bytes < to.size()};
    }
    return {.outcome = got < 0 && is_temporary(errno) ? Outcome::kBlocked : Outcome::kClosed};
}

Transport::Transfer Transport::write(std::string_view from) {
    if (tls_ != nullptr) {
        const int put = SSL_write(tls_, from.data(), clamp_to_int(from.size()));
        if (put <= 0) return {.outcome = tls_outcome(put)};
        return {.outcome = Outcome::kMoved, .bytes = static_cast<std::size_t>(put)};
    }
    const ssize_t put = send(socket_, from.data(), from.size(), MSG_NOSIGNAL);
    if (put >= 0) return {.outcome = Outcome::kMoved, .bytes = static_cast<std::size_t>(put)};
    return {.outcome = is_temporary(errno) ? Outcome::kBlocked : Outcome::kClosed};
}

void Transport::reset_on_close() const {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void Transport::finish_writing() {
    if (tls_ != nullptr && !is_broken_ && SSL_is_init_finished(tls_) != 0) {
        SSL_shutdown(tls_);
        ERR_clear_error();
    }
    shutdown(socket_, SHUT_WR);
}

Transport::Transfer Transport::discard(std::span<char> scratch) {
    const ssize_t got = recv(socket_, scratch.data(), scratch.size(), 0);
    if (got > 0) return {.outcome = Outcome::kMoved, .bytes = static_cast<std::size_t>(got)};
    return {.outcome = got < 0 && is_temporary(errno) ? Outcome::kBlocked : Outcome::kClosed};
}

}  // namespace sluice::http
