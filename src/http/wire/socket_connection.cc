#include "http/wire/socket_connection.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

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

// An output buffer that has grown beyond this for one answer is freed.
constexpr std::size_t kOutputKept = 1024UL * 1024;

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

std::size_t allocated_bytes(const std::string& text) {
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? text.capacity() + 1 : 0;
}

SocketConnection::SocketConnection(LoopState& loop, AcceptedSocket accepted, Alpn alpn)
    : loop_(loop),
      transport_(accepted.socket, accepted.tls, alpn),
      is_established_(accepted.tls == nullptr),
      peer_size_(static_cast<std::uint8_t>(std::min(accepted.peer.size(), sizeof(peer_)))) {
    std::memcpy(peer_.data(), accepted.peer.data(), peer_size_);
}

SocketConnection::~SocketConnection() = default;

SocketConnection* SocketConnection::open(std::unique_ptr<SocketConnection> owner) {
    SocketConnection* connection = owner.get();
    LoopState& loop = connection->loop_;
    const Phase first = connection->is_established_ ? Phase::kIdle : Phase::kHead;
    connection->place_ = loop.timeout_list.add(std::move(owner), first, loop.now);
    connection->ledger_place_ = loop.buffers.add(connection);
    loop.counters.connections.add(1);
    return connection;
}

void SocketConnection::on_ready(SocketEvents events) {
    is_readable_ |= events.readable;
    is_hung_up_ |= events.hung_up;
    work();
    end_turn();
}

void SocketConnection::on_turn() {
    work();
    end_turn();
}

void SocketConnection::on_answered() {
    loop_.enqueue(this);
}

// The memory cap is enforced here, between turns.
void SocketConnection::end_turn() {
    if (!is_closed_) record_held_bytes();
    loop_.shed_load();
}

void SocketConnection::record_held_bytes() {
    loop_.buffers.set(ledger_place_,
                      held_bytes() + allocated_bytes(unsent_) + transport_.buffer_bytes());
}

void SocketConnection::abort() {
    transport_.reset_on_close();
    close();
}

void SocketConnection::close() {
    if (is_closed_) return;
    is_closed_ = true;
    loop_.buffers.remove(ledger_place_);
    on_close();
    loop_.counters.connections.add(-1);
    loop_.defer_delete(this);
}

void SocketConnection::work() {
    if (is_closed_) return;
    if (is_lingering_) return discard();
    // A handshake allocates memory, so it starts only with the client's first byte.
    if (!is_established_ && (!is_readable_ || !handshake())) return;
    if (!unsent_.empty() && !send_unsent()) return;
    run();
}

bool SocketConnection::handshake() {
    switch (transport_.handshake()) {
        case Transport::Outcome::kMoved:
            is_established_ = true;
            // The client's first request may have arrived with the end of the handshake.
            is_readable_ = true;
            update_phase(PhaseTimer::kRestart);
            return true;
        case Transport::Outcome::kBlocked:
            return false;
        default:
            loop_.counters.handshake_failures.add(1);
            close();
            return false;
    }
}

Transport::Transfer SocketConnection::read_input() {
    const Transport::Transfer moved = transport_.read(loop_.input);
    if (moved.outcome == Transport::Outcome::kClosed) {
        close();
    } else if (moved.outcome == Transport::Outcome::kBlocked ||
               (moved.is_exhausted && !is_hung_up_)) {
        // After a hang-up there are no further events: reading continues up to the end.
        is_readable_ = false;
    }
    return moved;
}

void SocketConnection::send_output() {
    std::string& output = loop_.output;
    std::size_t sent = 0;
    while (sent < output.size()) {
        const Transport::Transfer moved = transport_.write(std::string_view(output).substr(sent));
        if (moved.outcome == Transport::Outcome::kClosed) return close();
        if (moved.outcome == Transport::Outcome::kBlocked) {
            unsent_.assign(output, sent);
            break;
        }
        sent += moved.bytes;
    }
    if (output.capacity() > kOutputKept) std::string().swap(output);
    if (unsent_.empty() && is_closing_) start_lingering();
}

// True if everything was sent and the connection stays open.
bool SocketConnection::send_unsent() {
    while (sent_ < unsent_.size()) {
        const Transport::Transfer moved = transport_.write(std::string_view(unsent_).substr(sent_));
        if (moved.outcome == Transport::Outcome::kClosed) {
            close();
            return false;
        }
        if (moved.outcome == Transport::Outcome::kBlocked) return false;
        sent_ += moved.bytes;
    }
    std::string().swap(unsent_);
    sent_ = 0;
    if (is_closing_) start_lingering();
    update_phase(PhaseTimer::kRestart);
    return !is_closing_;
}

// Closing a socket with unread bytes makes the kernel reset the connection, and the client may lose
// the last answer. So the client closes first, or the linger timeout ends.
void SocketConnection::start_lingering() {
    is_lingering_ = true;
    transport_.finish_writing();
    is_readable_ = true;
    loop_.enqueue(this);
}

void SocketConnection::discard() {
    for (int reads = 0; is_readable_; ++reads) {
        if (reads == kReadsPerTurn) return loop_.enqueue(this);
        const Transport::Transfer moved = transport_.discard(loop_.input);
        if (moved.outcome == Transport::Outcome::kClosed) return close();
        if (moved.outcome == Transport::Outcome::kBlocked) is_readable_ = false;
    }
}

void SocketConnection::update_phase(PhaseTimer timer) {
    Phase next = Phase::kLinger;
    if (!is_lingering_) next = unsent_.empty() ? phase() : Phase::kWrite;
    if (timer == PhaseTimer::kRestart || next != place_->phase)
        loop_.timeout_list.enter(place_, next, loop_.now);
}

}  // namespace sluice::http
