#include "http/wire/connection.h"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace sluice::http {

namespace {

// Answers are sent once they reach this size, even if more requests are buffered. No request is
// answered while answers can't be sent, so a client can leave no more than this and one more answer
// unread here.
constexpr std::size_t kSendThreshold = 32UL * 1024;

// Exchanges kept for reuse, unless their reply has grown beyond kLargestSpareReply.
constexpr std::size_t kSpareExchanges = 64;
constexpr std::size_t kLargestSpareReply = 64UL * 1024;

constexpr std::string_view kHandlerFailed = "The server failed to answer this request.";

}  // namespace

std::unique_ptr<SocketConnection> HttpProtocol::connect(LoopState& loop, AcceptedSocket accepted) {
    return std::make_unique<Connection>(*this, loop, accepted);
}

std::unique_ptr<PendingExchange> HttpProtocol::take_exchange() {
    if (exchanges_.empty()) return std::make_unique<PendingExchange>();
    std::unique_ptr<PendingExchange> exchange = std::move(exchanges_.back());
    exchanges_.pop_back();
    return exchange;
}

void HttpProtocol::return_exchange(std::unique_ptr<PendingExchange> exchange) {
    if (exchange->reply.body().capacity() > kLargestSpareReply) return;
    if (exchanges_.size() < kSpareExchanges) exchanges_.push_back(std::move(exchange));
}

Connection::Connection(HttpProtocol& http, LoopState& loop, AcceptedSocket accepted)
    : SocketConnection(loop, accepted, http.alpn()), http_(http), reader_(loop.limits) {}

Connection::~Connection() = default;

std::size_t Connection::held_bytes() const {
    return exchange_ == nullptr ? 0 : exchange_->held_bytes();
}

void Connection::on_timeout() {
    const Phase expired = place()->phase;
    if (expired == Phase::kIdle || expired == Phase::kLinger) return close();
    loop().counters.timeouts.add(1);
    if (expired == Phase::kNew && is_established()) return evict();
    if (expired == Phase::kWrite || !is_established()) return abort();
    refuse({408, "The request did not arrive in time."});
}

void Connection::on_drain() {
    if (is_streaming_) {
        finish_writing();
        return close();
    }
    // Answers requests that have arrived but were not read yet.
    poll();
    if (is_closed() || !is_free() || reader_.part() != RequestReader::Part::kNothing) return;
    evict();
}

void Connection::evict() {
    finish_writing();
    close();
}

void Connection::refuse() {
    refuse({503, "The server has too many connections."});
}

void Connection::refuse(ProtocolError error) {
    loop().output.clear();
    write_error({.status = error.status, .detail = error.detail});
    send_output();
    if (is_closed()) return;
    release_kept();
    update_phase(PhaseTimer::kRestart);
    record_held_bytes();
}

void Connection::shed() {
    const bool can_answer =
        is_established() && !has_unsent() && exchange_ == nullptr && !is_lingering();
    if (!can_answer) return abort();
    refuse({503, "The server holds too many unfinished requests."});
    if (!is_closed() && has_unsent()) abort();
}

void Connection::on_close() {
    if (exchange_ == nullptr) return;
    if (!is_streaming_) --loop().deferred;
    // The handler still writes into the reply; its completion deletes it.
    if (exchange_->state() == PendingExchange::State::kWaiting) exchange_.release()->orphan();
}

void Connection::run() {
    if (exchange_ != nullptr) {
        if (exchange_->state() == PendingExchange::State::kWaiting) return discard_input();
        has_turn_ = true;
    }
    while (!is_closed() && is_free()) {
        if (has_turn_) {
            if (!loop().turn.may_continue()) return;
            serve(kept());
        } else if (!is_readable() || !read_some()) {
            return;
        }
    }
}

// Notices the end of a client that reads a stream. Other clients that wait are not read from.
void Connection::discard_input() {
    if (!is_streaming_) return;
    while (is_readable() && !is_closed()) {
        if (read_input().outcome != Transport::Outcome::kMoved) return;
    }
}

bool Connection::send_piece(std::string_view piece) {
    if (is_closed()) return false;
    if (has_unsent()) return true;
    loop().set_time();
    loop().output.assign(piece);
    send_output();
    if (is_closed()) return false;
    update_phase(PhaseTimer::kContinue);
    record_held_bytes();
    loop().shed_load();
    return !is_closed();
}

bool Connection::is_free() const {
    return !has_unsent() && !is_closing_ &&
           (exchange_ == nullptr || exchange_->state() != PendingExchange::State::kWaiting);
}

// False if nothing can be read in this turn.
bool Connection::read_some() {
    const Transport::Transfer moved = read_input();
    if (moved.outcome != Transport::Outcome::kMoved) return false;
    const std::span<char> bytes(loop().input.data(), moved.bytes);
    serve(kept().empty() ? bytes : keep_more(bytes));
    return true;
}

// Answers the complete requests in `bytes`, which are kept or in the shared input, while the turn
// may continue, and keeps the remaining bytes.
void Connection::serve(std::span<char> bytes) {
    has_turn_ = false;
    loop().output.clear();
    http_.writer.set_time(loop().wall_time);
    std::size_t answered = 0;
    if (exchange_ != nullptr) {
        if (!is_streaming_) --loop().deferred;
        finish_exchange();
        loop().turn.spend_call();
        ++answered;
    }
    while (!is_closing_ && !bytes.empty()) {
        if (loop().output.size() >= kSendThreshold || !loop().turn.may_continue()) {
            has_turn_ = true;
            break;
        }
        const RequestReader::Outcome outcome = reader_.read(bytes, http_.request);
        if (outcome == RequestReader::Outcome::kNeedMore) break;
        if (outcome == RequestReader::Outcome::kError) {
            write_error({.status = reader_.error().status,
                         .detail = reader_.error().detail,
                         .accept = http_.request.header("accept")});
            break;
        }
        has_requests_ = true;
        loop().turn.spend_call();
        ++answered;
        const std::size_t used = reader_.used();
        const bool is_answered = answer(http_.request);
        bytes = bytes.subspan(used);
        if (!is_answered) break;
    }
    if (reader_.take_continue() && !is_closing_) answer_expectation(http_.request);
    keep(is_streaming_ || is_closing_ ? std::span<char>() : bytes);
    if (!loop().output.empty() || is_streaming_) send_output();
    if (is_closed()) return;
    update_phase(answered > 0 ? PhaseTimer::kRestart : PhaseTimer::kContinue);
}

// False if the answer is deferred.
bool Connection::answer(RequestView& request) {
    exchange_ = http_.take_exchange();
    const bool closes = !reader_.keep_alive() || loop().is_draining;
    exchange_->framing = {.after = closes ? AfterReply::kClose : AfterReply::kKeepAlive,
                          .minor_version = request.minor_version,
                          .head_only = request.method == "HEAD"};
    set_connection_facts(request);
    loop().counters.requests.add(1);
    if (call_handler(request) == HandlerResult::kDeferred &&
        exchange_->state() == PendingExchange::State::kHandling) {
        exchange_->wait_for(this);
        if (exchange_->is_stream)
            start_stream();
        else
            ++loop().deferred;
        return false;
    }
    finish_exchange();
    return true;
}

void Connection::start_stream() {
    is_streaming_ = true;
    exchange_->framing.after = AfterReply::kClose;
    exchange_->framing.is_stream = true;
    http_.writer.write(exchange_->reply, exchange_->framing, loop().output);
}

// Answers "Expect: 100-continue". The head of `request` was read in this turn, its body is
// incomplete.
void Connection::answer_expectation(RequestView& request) {
    set_connection_facts(request);
    request.body = {};
    std::unique_ptr<PendingExchange> exchange = http_.take_exchange();
    exchange->reply.begin(500, "");
    try {
        if (http_.handler.check_head(request, exchange->reply)) {
            loop().output += "HTTP/1.1 100 Continue\r\n\r\n";
        } else {
            http_.writer.write(exchange->reply, {.after = AfterReply::kClose}, loop().output);
            is_closing_ = true;
        }
    } catch (const std::exception& error) {
        write_error({.status = 500, .detail = kHandlerFailed, .cause = error.what()});
    }
    http_.return_exchange(std::move(exchange));
}

void Connection::set_connection_facts(RequestView& request) const {
    request.tls = is_tls();
    request.peer = peer();
}

HandlerResult Connection::call_handler(RequestView& request) {
    exchange_->start();
    exchange_->reply.begin(500, "");
    HandlerResult result = HandlerResult::kDone;
    try {
        result = http_.handler.handle(request, exchange_->reply, Completion(exchange_.get()));
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
    if (is_streaming_) {
        is_closing_ = true;  // all was sent
    } else if (exchange->state() == PendingExchange::State::kAnswered) {
        if (loop().is_draining) exchange->framing.after = AfterReply::kClose;
        http_.writer.write(exchange->reply, exchange->framing, loop().output);
        is_closing_ |= exchange->framing.after == AfterReply::kClose;
    } else {
        write_error({.status = 500, .detail = kHandlerFailed, .cause = exchange->failure});
    }
    http_.return_exchange(std::move(exchange));
}

void Connection::write_error(const WireError& error) {
    loop().counters.protocol_errors.add(1);
    http_.writer.set_time(loop().wall_time);
    std::unique_ptr<PendingExchange> exchange = http_.take_exchange();
    exchange->reply.begin(error.status, "");
    http_.handler.protocol_error(error, exchange->reply);
    http_.writer.write(exchange->reply, {.after = AfterReply::kClose}, loop().output);
    http_.return_exchange(std::move(exchange));
    is_closing_ = true;
}

Phase Connection::phase() const {
    if (exchange_ != nullptr) return Phase::kDeferred;
    // The timeout of a request that is incomplete goes on.
    if (has_turn_ && reader_.part() != RequestReader::Part::kNothing) return place()->phase;
    if (has_turn_) return Phase::kDeferred;
    if (reader_.part() == RequestReader::Part::kHead) return Phase::kHead;
    if (reader_.part() == RequestReader::Part::kBody) return Phase::kBody;
    return has_requests_ ? Phase::kIdle : Phase::kNew;
}

}  // namespace sluice::http
