#include "http/wire/connection.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/check.h"
#include "http/wire/loop_state.h"

namespace sluice::http {

namespace {

// Reads of one connection before the next one gets its turn.
constexpr int kReadsPerTurn = 8;

// Answers are sent once they reach this size, even if more requests are buffered. No request is
// answered while answers can't be sent, so a client can leave no more than this and one more answer
// unread here.
constexpr std::size_t kSendThreshold = 32UL * 1024;

// An input buffer that is larger than this, and than twice its content, is replaced.
constexpr std::size_t kLargeInput = 64UL * 1024;

// An output buffer that has grown beyond this for one answer is freed.
constexpr std::size_t kOutputKept = 1024UL * 1024;

constexpr std::string_view kHandlerFailed = "The server failed to answer this request.";

// Returns the bytes that `text` has allocated: none for a short string.
std::size_t allocated(const std::string& text) {
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? text.capacity() + 1 : 0;
}

}  // namespace

Connection::Connection(LoopState& loop, AcceptedSocket accepted)
    : loop_(loop),
      transport_(accepted.socket, accepted.tls),
      reader_(loop.limits),
      is_established_(accepted.tls == nullptr),
      peer_size_(static_cast<std::uint8_t>(std::min(accepted.peer.size(), sizeof(peer_)))) {
    std::memcpy(peer_.data(), accepted.peer.data(), peer_size_);
}

Connection::~Connection() = default;

Connection* Connection::open(LoopState& loop, AcceptedSocket accepted) {
    auto owner = std::make_unique<Connection>(loop, accepted);
    Connection* connection = owner.get();
    const Phase first = connection->is_established_ ? Phase::kIdle : Phase::kHead;
    connection->place_ = loop.timeout_list.add(std::move(owner), first, loop.now);
    connection->ledger_place_ = loop.buffers.add(connection);
    loop.counters.connections.add(1);
    return connection;
}

void Connection::on_ready(SocketEvents events) {
    is_readable_ |= events.readable;
    is_hung_up_ |= events.hung_up;
    work();
    end_turn();
}

void Connection::on_turn() {
    work();
    end_turn();
}

// The memory cap is enforced here, between turns: within one, a connection reads at most
// kReadsPerTurn times and buffers at most kSendThreshold bytes and one more answer.
void Connection::end_turn() {
    if (!is_closed_) loop_.buffers.set(ledger_place_, held_bytes());
    loop_.shed_load();
}

std::size_t Connection::held_bytes() const {
    return allocated(pending_) + allocated(unsent_) + transport_.buffer_bytes();
}

void Connection::on_answered() {
    loop_.enqueue(this);
}

void Connection::on_timeout() {
    const Phase phase = place_->phase;
    if (phase == Phase::kIdle || phase == Phase::kLinger) return close();
    loop_.counters.timeouts.add(1);
    if (phase == Phase::kWrite || !is_established_) return abort();
    refuse({408, "The request did not arrive in time."});
}

void Connection::on_drain() {
    // Answers requests that have arrived but were not read yet.
    is_readable_ = true;
    work();
    end_turn();
    if (is_closed_ || !is_free() || reader_.part() != RequestReader::Part::kNothing) return;
    transport_.finish_writing();
    close();
}

void Connection::refuse(ProtocolError error) {
    loop_.output.clear();
    write_error({.status = error.status, .detail = error.detail});
    send_output();
    if (is_closed_) return;
    release_pending();
    update_phase(PhaseTimer::kRestart);
    loop_.buffers.set(ledger_place_, held_bytes());
}

void Connection::shed() {
    const bool can_answer =
        is_established_ && unsent_.empty() && exchange_ == nullptr && !is_lingering_;
    if (!can_answer) return abort();
    refuse({503, "The server holds too many unfinished requests."});
    if (!is_closed_ && !unsent_.empty()) abort();
}

// Closes without delivering what the client has not received.
void Connection::abort() {
    transport_.reset_on_close();
    close();
}

void Connection::close() {
    if (is_closed_) return;
    is_closed_ = true;
    loop_.buffers.remove(ledger_place_);
    if (exchange_ != nullptr) --loop_.deferred;
    // The handler still writes into the reply; its completion deletes it.
    if (exchange_ != nullptr && exchange_->state() == PendingExchange::State::kWaiting) {
        exchange_.release()->orphan();
    }
    loop_.counters.connections.add(-1);
    loop_.defer_delete(this);
}

// Continues until the connection must wait: for the socket, for a deferred answer, or for its turn.
void Connection::work() {
    if (is_closed_) return;
    if (is_lingering_) return discard();
    // A handshake allocates memory, so it starts only with the client's first byte.
    if (!is_established_ && (!is_readable_ || !handshake())) return;
    if (!unsent_.empty() && !send_unsent()) return;
    if (exchange_ != nullptr) {
        if (exchange_->state() == PendingExchange::State::kWaiting) return;
        has_turn_ = true;
    }
    if (is_free() && has_turn_) serve({pending_.data(), pending_.size()});
    for (int reads = 0; is_readable_ && !is_closed_ && is_free() && !has_turn_; ++reads) {
        if (reads == kReadsPerTurn) return loop_.enqueue(this);
        read_some();
    }
}

bool Connection::is_free() const {
    return unsent_.empty() && !is_closing_ &&
           (exchange_ == nullptr || exchange_->state() != PendingExchange::State::kWaiting);
}

bool Connection::handshake() {
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

void Connection::read_some() {
    const Transport::Transfer moved = transport_.read(loop_.input);
    if (moved.outcome == Transport::Outcome::kClosed) return close();
    if (moved.outcome == Transport::Outcome::kBlocked) {
        is_readable_ = false;
        return;
    }
    // After a hang-up there are no further events: reading continues up to the end.
    if (moved.is_exhausted && !is_hung_up_) is_readable_ = false;
    if (pending_.empty()) return serve({loop_.input.data(), moved.bytes});
    pending_.append(loop_.input.data(), moved.bytes);
    serve({pending_.data(), pending_.size()});
}

// Answers the complete requests in `bytes`, which point into pending_ or the shared input, and
// keeps the remaining bytes.
void Connection::serve(std::span<char> bytes) {
    has_turn_ = false;
    loop_.output.clear();
    std::size_t answered = 0;
    if (exchange_ != nullptr) {
        --loop_.deferred;
        finish_exchange();
        ++answered;
    }
    while (!is_closing_) {
        if (answered >= loop_.limits.pipelined || loop_.output.size() >= kSendThreshold) {
            has_turn_ = !bytes.empty();
            break;
        }
        const RequestReader::Outcome outcome = reader_.read(bytes, loop_.request);
        if (outcome == RequestReader::Outcome::kNeedMore) break;
        if (outcome == RequestReader::Outcome::kError) {
            write_error({.status = reader_.error().status,
                         .detail = reader_.error().detail,
                         .accept = loop_.request.header("accept")});
            break;
        }
        ++answered;
        const std::size_t used = reader_.used();
        const bool is_answered = answer(loop_.request);
        bytes = bytes.subspan(used);
        if (!is_answered) break;
    }
    if (reader_.take_continue() && !is_closing_) answer_expectation(loop_.request);
    keep(bytes);
    if (!loop_.output.empty()) send_output();
    if (is_closed_) return;
    update_phase(answered > 0 ? PhaseTimer::kRestart : PhaseTimer::kContinue);
    if (has_turn_ && is_free()) loop_.enqueue(this);
}

// False if the answer is deferred.
bool Connection::answer(RequestView& request) {
    exchange_ = loop_.take_exchange();
    const bool closes = !reader_.keep_alive() || loop_.is_draining;
    exchange_->framing = {.after = closes ? AfterReply::kClose : AfterReply::kKeepAlive,
                          .minor_version = request.minor_version,
                          .head_only = request.method == "HEAD"};
    set_connection_facts(request);
    loop_.counters.requests.add(1);
    if (call_handler(request) == HandlerResult::kDeferred &&
        exchange_->state() == PendingExchange::State::kHandling) {
        exchange_->wait_for(this);
        ++loop_.deferred;
        return false;
    }
    finish_exchange();
    return true;
}

// Answers "Expect: 100-continue". The head of `request` was read in this turn, its body is
// incomplete.
void Connection::answer_expectation(RequestView& request) {
    set_connection_facts(request);
    request.body = {};
    std::unique_ptr<PendingExchange> exchange = loop_.take_exchange();
    exchange->reply.begin(500, "");
    try {
        if (loop_.handler.check_head(request, exchange->reply)) {
            loop_.output += "HTTP/1.1 100 Continue\r\n\r\n";
        } else {
            loop_.writer.write(exchange->reply, {.after = AfterReply::kClose}, loop_.output);
            is_closing_ = true;
        }
    } catch (const std::exception& error) {
        write_error({.status = 500, .detail = kHandlerFailed, .cause = error.what()});
    }
    loop_.return_exchange(std::move(exchange));
}

void Connection::set_connection_facts(RequestView& request) const {
    request.tls = transport_.is_tls();
    request.peer = {peer_.data(), peer_size_};
}

HandlerResult Connection::call_handler(RequestView& request) {
    exchange_->start();
    exchange_->reply.begin(500, "");
    HandlerResult result = HandlerResult::kDone;
    try {
        result = loop_.handler.handle(request, exchange_->reply, Completion(exchange_.get()));
    } catch (const std::exception& error) {
        exchange_->failure = error.what();
        return HandlerResult::kDeferred;  // Its completion was dropped, which answers with 500.
    }
    // A completion that outlives its exchange would end another one.
    SLUICE_CHECK(result == HandlerResult::kDeferred ||
                 exchange_->state() != PendingExchange::State::kHandling);
    if (result == HandlerResult::kDone) exchange_->end(PendingExchange::State::kAnswered);
    return result;
}

// Writes the reply that the handler has finished or abandoned.
void Connection::finish_exchange() {
    std::unique_ptr<PendingExchange> exchange = std::move(exchange_);
    if (exchange->state() == PendingExchange::State::kAnswered) {
        if (loop_.is_draining) exchange->framing.after = AfterReply::kClose;
        loop_.writer.write(exchange->reply, exchange->framing, loop_.output);
        is_closing_ |= exchange->framing.after == AfterReply::kClose;
    } else {
        write_error({.status = 500, .detail = kHandlerFailed, .cause = exchange->failure});
    }
    loop_.return_exchange(std::move(exchange));
}

void Connection::write_error(const WireError& error) {
    loop_.counters.protocol_errors.add(1);
    std::unique_ptr<PendingExchange> exchange = loop_.take_exchange();
    exchange->reply.begin(error.status, "");
    loop_.handler.protocol_error(error, exchange->reply);
    loop_.writer.write(exchange->reply, {.after = AfterReply::kClose}, loop_.output);
    loop_.return_exchange(std::move(exchange));
    is_closing_ = true;
}

// Keeps `rest`, which is at the end of pending_ or in the shared input, unless the connection is
// closing.
void Connection::keep(std::span<const char> rest) {
    if (is_closing_ || rest.empty()) return release_pending();
    const std::size_t size = rest.size();
    const bool is_own =
        rest.data() >= pending_.data() && rest.data() < pending_.data() + pending_.size();
    const bool is_oversized = pending_.capacity() > std::max(kLargeInput, 2 * size);
    if (is_own && is_oversized) {
        pending_ = std::string(rest.data(), size);
    } else if (is_own) {
        pending_.erase(0, static_cast<std::size_t>(rest.data() - pending_.data()));
        pending_.resize(size);
    } else {
        pending_.assign(rest.data(), size);
    }
}

void Connection::release_pending() {
    std::string().swap(pending_);
}

void Connection::send_output() {
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
bool Connection::send_unsent() {
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
void Connection::start_lingering() {
    is_lingering_ = true;
    transport_.finish_writing();
    is_readable_ = true;
    loop_.enqueue(this);
}

void Connection::discard() {
    for (int reads = 0; is_readable_; ++reads) {
        if (reads == kReadsPerTurn) return loop_.enqueue(this);
        const Transport::Transfer moved = transport_.discard(loop_.input);
        if (moved.outcome == Transport::Outcome::kClosed) return close();
        if (moved.outcome == Transport::Outcome::kBlocked) is_readable_ = false;
    }
}

// Records the phase that the connection is in. A new phase always restarts the timer.
void Connection::update_phase(PhaseTimer timer) {
    Phase phase = Phase::kIdle;
    if (is_lingering_) {
        phase = Phase::kLinger;
    } else if (!unsent_.empty()) {
        phase = Phase::kWrite;
    } else if (exchange_ != nullptr) {
        phase = Phase::kDeferred;
    } else if (reader_.part() == RequestReader::Part::kHead) {
        phase = Phase::kHead;
    } else if (reader_.part() == RequestReader::Part::kBody) {
        phase = Phase::kBody;
    }
    if (timer == PhaseTimer::kRestart || phase != place_->phase)
        loop_.timeout_list.enter(place_, phase, loop_.now);
}

}  // namespace sluice::http
