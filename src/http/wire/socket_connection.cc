#include "http/wire/socket_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::http {

namespace {

// An output buffer that has grown beyond this for one answer is freed.
constexpr std::size_t kOutputKept = 1024UL * 1024;

}  // namespace

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
