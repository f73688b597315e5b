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

#include "base/allocated_bytes.h"

namespace sluice::http {

namespace {

bool is_temporary(int error) {
    return error == EAGAIN || error == EINTR;
}

// Allocations of OpenSSL 3.0, measured with CRYPTO_set_mem_functions().
constexpr std::size_t kHandshakeBytes = 56UL * 1024;
constexpr std::size_t kRecordBytes = 17UL * 1024;

// OpenSSL reads the header of each record by itself.
constexpr int kRecordHeader = 5;

int clamp_to_int(std::size_t size) {
    return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

// An output buffer that has grown beyond this for one answer is freed.
constexpr std::size_t kOutputKept = 1024UL * 1024;

// A buffer of kept bytes that is larger than this, and than twice its content, is replaced.
constexpr std::size_t kLargeKept = 64UL * 1024;

}  // namespace

// A socket BIO. OpenSSL's own raises SIGPIPE, and does not report whether a read has emptied the
// socket, which costs a system call per request. This one also reads ahead: OpenSSL, which would
// handle any number of records without data that it has read ahead, asks for one record at a time
// and gets none when the turn is over.
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
        if (!transport->turn_.may_continue()) {
            BIO_set_retry_read(bio);
            return -1;
        }
        if (transport->ahead_ == nullptr) {
            const ssize_t got = read_ahead(*transport);
            if (transport->is_empty_) BIO_set_retry_read(bio);
            if (got <= 0) return static_cast<int>(got);
        }
        if (size == kRecordHeader) transport->turn_.spend_record();
        return take(*transport, {to, static_cast<std::size_t>(size)});
    }

    // An exception must not pass through OpenSSL, which is written in C.
    static ssize_t read_ahead(Transport& transport) {
        std::unique_ptr<Transport::Ahead> ahead(new (std::nothrow) Transport::Ahead);
        if (ahead == nullptr) return -1;
        const ssize_t got = recv(transport.socket_, ahead->data(), ahead->size(), 0);
        transport.is_empty_ = got < 0 && is_temporary(errno);
        if (got <= 0) return got;
        const auto bytes = static_cast<std::size_t>(got);
        transport.is_drained_ = bytes < ahead->size();
        transport.ahead_left_ = std::span<const char>(*ahead).first(bytes);
        transport.ahead_ = std::move(ahead);
        return got;
    }

    static int take(Transport& transport, std::span<char> to) {
        const std::size_t count = std::min(to.size(), transport.ahead_left_.size());
        std::memcpy(to.data(), transport.ahead_left_.data(), count);
        transport.ahead_left_ = transport.ahead_left_.subspan(count);
        if (transport.ahead_left_.empty()) transport.ahead_.reset();
        return static_cast<int>(count);
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

Transport::Transport(int socket, SSL_CTX* tls, Turn& turn, Alpn alpn)
    : socket_(socket), turn_(turn) {
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
    const std::size_t ahead = ahead_ == nullptr ? 0 : sizeof(Ahead);
    if (SSL_is_init_finished(tls_) == 0) return ahead + kHandshakeBytes;
    // "RB": the header of a record has been read, and its body is awaited.
    const bool reads = SSL_has_pending(tls_) != 0 || SSL_rstate_string(tls_)[1] == 'B';
    const bool writes = SSL_want_write(tls_) != 0;
    return ahead + (reads ? kRecordBytes : 0) + (writes ? kRecordBytes : 0);
}

// Of an operation before which is_empty_ was false.
Transport::Outcome Transport::tls_outcome(int result) {
    switch (SSL_get_error(tls_, result)) {
        case SSL_ERROR_WANT_READ:
            return is_empty_ ? Outcome::kBlocked : Outcome::kPaused;
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
    is_empty_ = false;
    const int result = SSL_do_handshake(tls_);
    return result == 1 ? Outcome::kMoved : tls_outcome(result);
}

Transport::Transfer Transport::read(std::span<char> to) {
    if (tls_ != nullptr) {
        is_empty_ = false;
        const int got = SSL_read(tls_, to.data(), clamp_to_int(to.size()));
        if (got <= 0) {
            const Outcome outcome = tls_outcome(got);
            return {.outcome = outcome, .is_exhausted = is_empty_};
        }
        return {.outcome = Outcome::kMoved,
                .bytes = static_cast<std::size_t>(got),
                .is_exhausted = is_drained_ && ahead_ == nullptr && SSL_has_pending(tls_) == 0};
    }
    const ssize_t got = recv(socket_, to.data(), to.size(), 0);
    if (got > 0) {
        const auto bytes = static_cast<std::size_t>(got);
        return {.outcome = Outcome::kMoved, .bytes = bytes, .is_exhausted = bytes < to.size()};
    }
    const bool is_empty = got < 0 && is_temporary(errno);
    return {.outcome = is_empty ? Outcome::kBlocked : Outcome::kClosed, .is_exhausted = is_empty};
}

Transport::Transfer Transport::write(std::string_view from) {
    if (tls_ != nullptr) {
        is_empty_ = false;
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

SocketConnection::SocketConnection(LoopState& loop, AcceptedSocket accepted, Alpn alpn)
    : loop_(loop),
      transport_(accepted.socket, accepted.tls, loop.turn, alpn),
      is_established_(accepted.tls == nullptr),
      peer_size_(static_cast<std::uint8_t>(std::min(accepted.peer.size(), sizeof(peer_)))) {
    std::memcpy(peer_.data(), accepted.peer.data(), peer_size_);
}

SocketConnection::~SocketConnection() = default;

SocketConnection* SocketConnection::open(std::unique_ptr<SocketConnection> owner) {
    SocketConnection* connection = owner.get();
    LoopState& loop = connection->loop_;
    connection->place_ = loop.timeout_list.add(std::move(owner), Phase::kNew, loop.now);
    connection->ledger_place_ = loop.buffers.add(connection);
    loop.counters.connections.add(1);
    return connection;
}

void SocketConnection::on_ready(SocketEvents events) {
    if (events.readable) expect_input();
    is_hung_up_ |= events.hung_up;
    // One that waits for its turn does not get another before.
    if (!is_queued_) on_turn();
}

void SocketConnection::on_turn() {
    loop_.turn.begin();
    work();
    end_turn();
}

void SocketConnection::poll() {
    expect_input();
    on_turn();
}

void SocketConnection::expect_input() {
    is_readable_ = true;
    transport_.expect_input();
}

void SocketConnection::on_answered() {
    if (is_closed_) return;
    record_held_bytes();
    loop_.enqueue(this);
}

// The memory cap is enforced here, between turns.
void SocketConnection::end_turn() {
    if (!is_closed_) {
        record_held_bytes();
        if (loop_.turn.is_over()) loop_.enqueue(this);
    }
    loop_.shed_load();
}

void SocketConnection::record_held_bytes() {
    loop_.buffers.set(ledger_place_,
                      held_bytes() + allocated_bytes(kept_) + allocated_bytes(unsent_) +
                          transport_.buffer_bytes());
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
            return true;
        case Transport::Outcome::kPaused:
            loop_.enqueue(this);
            return false;
        case Transport::Outcome::kBlocked:
            return false;
        default:
            loop_.counters.handshake_failures.add(1);
            close();
            return false;
    }
}

Transport::Transfer SocketConnection::read_input() {
    using Outcome = Transport::Outcome;
    if (!loop_.turn.may_continue()) return {.outcome = Outcome::kPaused};
    const Transport::Transfer moved = transport_.read(loop_.input);
    loop_.turn.spend_bytes(moved.bytes);
    // After a hang-up there are no further events: reading continues up to the end.
    if (moved.is_exhausted && (moved.outcome == Outcome::kBlocked || !is_hung_up_))
        is_readable_ = false;
    if (moved.outcome == Outcome::kPaused) loop_.enqueue(this);
    if (moved.outcome == Outcome::kClosed) close();
    return moved;
}

std::span<char> SocketConnection::keep_more(std::span<const char> bytes) {
    kept_.append(bytes.data(), bytes.size());
    return kept();
}

// Bytes at the end of kept_ are moved to its front.
void SocketConnection::keep(std::span<const char> rest) {
    if (rest.empty()) return release_kept();
    const std::size_t size = rest.size();
    const bool is_own = rest.data() >= kept_.data() && rest.data() < kept_.data() + kept_.size();
    const bool is_oversized = kept_.capacity() > std::max(kLargeKept, 2 * size);
    if (is_own && is_oversized) {
        kept_ = std::string(rest.data(), size);
    } else if (is_own) {
        kept_.erase(0, static_cast<std::size_t>(rest.data() - kept_.data()));
        kept_.resize(size);
    } else {
        kept_.assign(rest.data(), size);
    }
}

void SocketConnection::release_kept() {
    std::string().swap(kept_);
}

void SocketConnection::send_output() {
    std::string& output = loop_.output;
    std::size_t sent = 0;
    while (sent < output.size()) {
        const Transport::Transfer moved = transport_.write(std::string_view(output).substr(sent));
        if (moved.outcome == Transport::Outcome::kClosed) return close();
        if (moved.outcome == Transport::Outcome::kPaused) loop_.enqueue(this);
        if (moved.outcome != Transport::Outcome::kMoved) {
            unsent_.assign(output, sent);
            break;
        }
        sent += moved.bytes;
    }
    loop_.turn.spend_bytes(output.size());
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
        if (moved.outcome == Transport::Outcome::kPaused) loop_.enqueue(this);
        if (moved.outcome != Transport::Outcome::kMoved) return false;
        sent_ += moved.bytes;
        loop_.turn.spend_bytes(moved.bytes);
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
    while (is_readable_ && loop_.turn.may_continue()) {
        const Transport::Transfer moved = transport_.discard(loop_.input);
        loop_.turn.spend_bytes(moved.bytes);
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
