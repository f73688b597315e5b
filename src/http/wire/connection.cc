#include "http/wire/connection.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string_view>

#include "base/check.h"
#include "http/wire/loop_state.h"

namespace sluice::http {

namespace {

// Reads of one connection before the others get their turn.
constexpr int kReadsPerTurn = 8;

// Answers are sent when this much is at hand, even if more requests are. No request is answered
// while answers can't leave, so this and one more answer is all that a client can leave unread
// here.
constexpr std::size_t kOutputAtHand = 32UL * 1024;

// A buffer of unfinished requests that is larger than this, and than twice its content, is
// replaced.
constexpr std::size_t kLooseInput = 64UL * 1024;

// A buffer that has grown for one answer is not kept for all others.
constexpr std::size_t kOutputKept = 1024UL * 1024;

constexpr std::string_view kHandlerFailed = "The server failed to answer this request.";

// Short strings have no memory of their own.
std::size_t allocated(const std::string& text) {
    static const std::size_t inside = std::string().capacity();
    return text.capacity() > inside ? text.capacity() + 1 : 0;
}

}  // namespace

Connection::Connection(LoopState& bench, Accepted accepted)
    : bench_(bench),
      transport_(accepted.socket, accepted.tls),
      reader_(bench.limits),
      is_established_(accepted.tls == nullptr),
      peer_size_(static_cast<std::uint8_t>(std::min(accepted.peer.size(), sizeof(peer_)))) {
    std::memcpy(peer_.data(), accepted.peer.data(), peer_size_);
}

Connection::~Connection() = default;

Connection* Connection::open(LoopState& bench, Accepted accepted) {
    auto owner = std::make_unique<Connection>(bench, accepted);
    Connection* connection = owner.get();
    const Phase first = connection->is_established_ ? Phase::kIdle : Phase::kHead;
    connection->place_ = bench.timeout_list.add(std::move(owner), first, bench.now);
    connection->share_ = bench.buffers.add(connection);
    bench.counters.connections.add(1);
    return connection;
}

void Connection::on_ready(Readiness readiness) {
    is_readable_ |= readiness.readable;
    is_hung_up_ |= readiness.hung_up;
    work();
    end_turn();
}

void Connection::on_turn() {
    work();
    end_turn();
}

// The memory cap is enforced here, between turns: within one, a connection reads at most
// kReadsPerTurn times, and what it buffers of its answers is bounded by kOutputAtHand and the
// largest answer.
void Connection::end_turn() {
    if (!is_closed_) bench_.buffers.set(share_, held_bytes());
    bench_.shed_load();
}

std::size_t Connection::held_bytes() const {
    return allocated(pending_) + allocated(unsent_) + transport_.buffer_bytes();
}

void Connection::on_answered() {
    bench_.enqueue(this);
}

void Connection::on_timeout() {
    const Phase phase = place_->phase;
    if (phase == Phase::kIdle || phase == Phase::kLinger) return close();
    bench_.counters.timeouts.add(1);
    if (phase == Phase::kWrite || !is_established_) return abort();
    refuse({408, "The request did not arrive in time."});
}

void Connection::on_drain() {
    // What the client has sent is answered, even if it was not read yet.
    is_readable_ = true;
    work();
    end_turn();
    if (is_closed_ || !is_free() || reader_.part() != RequestReader::Part::kNothing) return;
    transport_.finish_writing();
    close();
}

void Connection::refuse(ProtocolError error) {
    bench_.output.clear();
    write_error({.status = error.status, .detail = error.detail});
    send_output();
    if (is_closed_) return;
    release_pending();
    settle(true);
    bench_.buffers.set(share_, held_bytes());
}

void Connection::shed() {
    const bool can_answer =
        is_established_ && unsent_.empty() && exchange_ == nullptr && !is_lingering_;
    if (!can_answer) return abort();
    refuse({503, "The server holds too many unfinished requests."});
    if (!is_closed_ && !unsent_.empty()) abort();
}

// Closes without delivering what the client has not taken in.
void Connection::abort() {
    transport_.reset_on_close();
    close();
}

void Connection::close() {
    if (is_closed_) return;
    is_closed_ = true;
    bench_.buffers.remove(share_);
    if (exchange_ != nullptr) --bench_.awaited;
    // The handler still writes into the reply; its completion destroys it.
    if (exchange_ != nullptr && exchange_->state() == PendingExchange::State::kWaiting) {
        exchange_.release()->orphan();
    }
    bench_.counters.connections.add(-1);
    bench_.defer_delete(this);
}

// Goes on wherever it can.
void Connection::work() {
    if (is_closed_) return;
    if (is_lingering_) return discard();
    // A handshake takes memory, so that it waits for the client's first byte.
    if (!is_established_ && (!is_readable_ || !shake_hands())) return;
    if (!unsent_.empty() && !send_unsent()) return;
    if (exchange_ != nullptr) {
        if (exchange_->state() == PendingExchange::State::kWaiting) return;
        has_turn_ = true;
    }
    if (is_free() && has_turn_) serve({pending_.data(), pending_.size()});
    for (int reads = 0; is_readable_ && !is_closed_ && is_free() && !has_turn_; ++reads) {
        if (reads == kReadsPerTurn) return bench_.enqueue(this);
        read_some();
    }
}

bool Connection::is_free() const {
    return unsent_.empty() && !is_closing_ &&
           (exchange_ == nullptr || exchange_->state() != PendingExchange::State::kWaiting);
}

bool Connection::shake_hands() {
    switch (transport_.shake_hands()) {
        case Transport::Outcome::kMoved:
            is_established_ = true;
            // The client's first request may have come with the end of the handshake.
            is_readable_ = true;
            settle(true);
            return true;
        case Transport::Outcome::kBlocked:
            return false;
        default:
            bench_.counters.handshake_failures.add(1);
            close();
            return false;
    }
}

void Connection::read_some() {
    const Transport::Moved moved = transport_.read(bench_.input);
    if (moved.outcome == Transport::Outcome::kClosed) return close();
    if (moved.outcome == Transport::Outcome::kBlocked) {
        is_readable_ = false;
        return;
    }
    // After a hang-up no event will come any more: reading goes on until the end is seen.
    if (moved.is_exhausted && !is_hung_up_) is_readable_ = false;
    if (pending_.empty()) return serve({bench_.input.data(), moved.bytes});
    pending_.append(bench_.input.data(), moved.bytes);
    serve({pending_.data(), pending_.size()});
}

// Answers the requests in `bytes`, which lie in pending_ or in the shared input, and keeps the
// rest.
void Connection::serve(std::span<char> bytes) {
    has_turn_ = false;
    bench_.output.clear();
    std::size_t answered = 0;
    if (exchange_ != nullptr) {
        --bench_.awaited;
        finish_exchange();
        ++answered;
    }
    while (!is_closing_) {
        if (answered >= bench_.limits.pipelined || bench_.output.size() >= kOutputAtHand) {
            has_turn_ = !bytes.empty();
            break;
        }
        const RequestReader::Outcome outcome = reader_.read(bytes, bench_.request);
        if (outcome == RequestReader::Outcome::kNeedMore) break;
        if (outcome == RequestReader::Outcome::kError) {
            write_error({.status = reader_.error().status,
                         .detail = reader_.error().detail,
                         .accept = bench_.request.header("accept")});
            break;
        }
        ++answered;
        const std::size_t used = reader_.used();
        const bool is_answered = answer(bench_.request);
        bytes = bytes.subspan(used);
        if (!is_answered) break;
    }
    if (reader_.take_continue() && !is_closing_) answer_expectation(bench_.request);
    keep(bytes);
    if (!bench_.output.empty()) send_output();
    if (is_closed_) return;
    settle(answered > 0);
    if (has_turn_ && is_free()) bench_.enqueue(this);
}

// False if the answer is still to come.
bool Connection::answer(RequestView& request) {
    exchange_ = bench_.take_exchange();
    const bool closes = !reader_.keep_alive() || bench_.is_draining;
    exchange_->framing = {.after = closes ? After::kClose : After::kKeepAlive,
                          .minor_version = request.minor_version,
                          .head_only = request.method == "HEAD"};
    complete(request);
    bench_.counters.requests.add(1);
    if (ask_handler(request) == Progress::kLater &&
        exchange_->state() == PendingExchange::State::kHandling) {
        exchange_->wait_for(this);
        ++bench_.awaited;
        return false;
    }
    finish_exchange();
    return true;
}

// The head of `request` was read in this turn, and its body has not come completely.
void Connection::answer_expectation(RequestView& request) {
    complete(request);
    request.body = {};
    std::unique_ptr<PendingExchange> exchange = bench_.take_exchange();
    exchange->reply.begin(500, "");
    try {
        if (bench_.handler.check_head(request, exchange->reply)) {
            bench_.output += "HTTP/1.1 100 Continue\r\n\r\n";
        } else {
            bench_.writer.write(exchange->reply, {.after = After::kClose}, bench_.output);
            is_closing_ = true;
        }
    } catch (const std::exception& error) {
        write_error({.status = 500, .detail = kHandlerFailed, .cause = error.what()});
    }
    bench_.return_exchange(std::move(exchange));
}

void Connection::complete(RequestView& request) const {
    request.tls = transport_.is_tls();
    request.peer = {peer_.data(), peer_size_};
}

Progress Connection::ask_handler(RequestView& request) {
    exchange_->start();
    exchange_->reply.begin(500, "");
    Progress progress = Progress::kDone;
    try {
        progress = bench_.handler.handle(request, exchange_->reply, Completion(exchange_.get()));
    } catch (const std::exception& error) {
        exchange_->failure = error.what();
        return Progress::kLater;  // Its completion was dropped, which makes this a 500.
    }
    // A completion that outlives a finished exchange would end another one's.
    SLUICE_CHECK(progress == Progress::kLater ||
                 exchange_->state() != PendingExchange::State::kHandling);
    if (progress == Progress::kDone) exchange_->end(PendingExchange::State::kAnswered);
    return progress;
}

// Writes the reply that the handler has finished or abandoned.
void Connection::finish_exchange() {
    std::unique_ptr<PendingExchange> exchange = std::move(exchange_);
    if (exchange->state() == PendingExchange::State::kAnswered) {
        if (bench_.is_draining) exchange->framing.after = After::kClose;
        bench_.writer.write(exchange->reply, exchange->framing, bench_.output);
        is_closing_ |= exchange->framing.after == After::kClose;
    } else {
        write_error({.status = 500, .detail = kHandlerFailed, .cause = exchange->failure});
    }
    bench_.return_exchange(std::move(exchange));
}

void Connection::write_error(const WireError& error) {
    bench_.counters.protocol_errors.add(1);
    std::unique_ptr<PendingExchange> exchange = bench_.take_exchange();
    exchange->reply.begin(error.status, "");
    bench_.handler.protocol_error(error, exchange->reply);
    bench_.writer.write(exchange->reply, {.after = After::kClose}, bench_.output);
    bench_.return_exchange(std::move(exchange));
    is_closing_ = true;
}

// `rest` lies at the end of pending_ or in the shared input. Nothing is kept where nothing will be
// read.
void Connection::keep(std::span<const char> rest) {
    if (is_closing_ || rest.empty()) return release_pending();
    const std::size_t size = rest.size();
    const bool is_own =
        rest.data() >= pending_.data() && rest.data() < pending_.data() + pending_.size();
    const bool is_loose = pending_.capacity() > std::max(kLooseInput, 2 * size);
    if (is_own && is_loose) {
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
    std::string& output = bench_.output;
    std::size_t sent = 0;
    while (sent < output.size()) {
        const Transport::Moved moved = transport_.write(std::string_view(output).substr(sent));
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

// True when all has left and the connection goes on.
bool Connection::send_unsent() {
    while (sent_ < unsent_.size()) {
        const Transport::Moved moved = transport_.write(std::string_view(unsent_).substr(sent_));
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
    settle(true);
    return !is_closing_;
}

// Closing a socket that holds unread bytes makes the kernel reset the connection, and the client
// may lose our last answer. So the client closes first, or time runs out.
void Connection::start_lingering() {
    is_lingering_ = true;
    transport_.finish_writing();
    is_readable_ = true;
    bench_.enqueue(this);
}

void Connection::discard() {
    for (int reads = 0; is_readable_; ++reads) {
        if (reads == kReadsPerTurn) return bench_.enqueue(this);
        const Transport::Moved moved = transport_.discard(bench_.input);
        if (moved.outcome == Transport::Outcome::kClosed) return close();
        if (moved.outcome == Transport::Outcome::kBlocked) is_readable_ = false;
    }
}

// Enters the phase that the connection is in. Time runs on within a phase, unless it starts over.
void Connection::settle(bool starts_over) {
    Phase phase = Phase::kIdle;
    if (is_lingering_) {
        phase = Phase::kLinger;
    } else if (!unsent_.empty()) {
        phase = Phase::kWrite;
    } else if (exchange_ != nullptr) {
        phase = Phase::kLater;
    } else if (reader_.part() == RequestReader::Part::kHead) {
        phase = Phase::kHead;
    } else if (reader_.part() == RequestReader::Part::kBody) {
        phase = Phase::kBody;
    }
    if (starts_over || phase != place_->phase) bench_.timeout_list.enter(place_, phase, bench_.now);
}

}  // namespace sluice::http
