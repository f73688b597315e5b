#include "grpc/connection.h"

#include <algorithm>
#include <utility>

namespace sluice::grpc {

namespace {

using http::Phase;
using http::Transport;

// Bytes of answers that are collected for one write.
constexpr std::size_t kSendThreshold = 64UL * 1024;

// A session handles all that it is given. So it gets this many bytes at a time: it handles no more
// frames beyond the budget of a turn than fit into them.
constexpr std::size_t kPiece = 512;

// The time for a client to acknowledge that the connection will end. Calls that it has sent before
// are accepted.
constexpr std::chrono::milliseconds kAcknowledgeTime{1'000};

}  // namespace

GrpcProtocol::GrpcProtocol(SessionContext& context, ConnectionAge age, std::uint64_t seed)
    : context_(context), age_(age), jitter_(seed) {}

GrpcProtocol::~GrpcProtocol() = default;

std::unique_ptr<http::SocketConnection> GrpcProtocol::connect(http::LoopState& loop,
                                                              http::AcceptedSocket accepted) {
    return std::make_unique<Connection>(*this, loop, accepted);
}

void GrpcProtocol::on_tick(http::LoopState& loop) {
    on_alarms(alarms_, loop.now, &Connection::on_alarm);
    on_alarms(deadlines_, loop.now, &Connection::on_deadline);
    on_alarms(awaited_, loop.now, &Connection::on_awaited_alarm);
    if (!deadlines_.empty()) loop.tick_at(deadlines_.begin()->first);
}

// Ends: an alarm is removed, or replaced by a later one.
void GrpcProtocol::on_alarms(Alarms& alarms,
                             std::chrono::milliseconds now,
                             void (Connection::*act)()) {
    while (!alarms.empty() && alarms.begin()->first <= now)
        (alarms.begin()->second->*act)();
}

Connection::Connection(GrpcProtocol& grpc, http::LoopState& loop, http::AcceptedSocket accepted)
    : SocketConnection(loop, accepted, grpc.alpn()),
      grpc_(grpc),
      session_(grpc.context_, accepted.peer, loop.turn, [this] { on_answered(); }),
      alarm_(grpc.alarms_.end()),
      deadline_(grpc.deadlines_.end()),
      awaited_alarm_(grpc.awaited_.end()) {
    if (grpc.age_.most.count() <= 0) return;
    const std::chrono::milliseconds age = grpc.jitter_.up_to(grpc.age_.most);
    old_at_ = loop.now + age;
    set_alarm(age);
}

Connection::~Connection() = default;

void Connection::on_close() {
    clear_alarm();
    clear_deadline();
    clear_awaited_alarm();
    loop().deferred -= deferred_;
    deferred_ = 0;
}

std::size_t Connection::held_bytes() const {
    return session_.held_bytes();
}

void Connection::run() {
    if (session_.has_output()) flush();
    const auto can_read = [&] {
        return can_write() && !is_broken_ && (is_readable() || !kept().empty()) &&
               loop().turn.may_continue();
    };
    while (can_read()) {
        if (!kept().empty()) {
            serve({kept().data(), kept().size()});
        } else {
            const Transport::Transfer moved = read_input();
            if (moved.outcome != Transport::Outcome::kMoved) break;
            serve({loop().input.data(), moved.bytes});
        }
    }
    if (can_write()) flush();
}

void Connection::serve(std::string_view bytes) {
    // loop().now is a coarse reading of the same clock.
    const ServerSession::Time now{loop().now};
    while (!bytes.empty() && !is_broken_ && loop().turn.may_continue()) {
        is_broken_ |= !session_.receive(bytes.substr(0, kPiece), now);
        bytes.remove_prefix(std::min(kPiece, bytes.size()));
    }
    keep(is_broken_ ? std::string_view() : bytes);
    if (state_ == State::kAnnounced && session_.has_drain_ack()) start_drain();
}

void Connection::flush() {
    std::string& output = loop().output;
    for (bool has_more = true; has_more && !is_closed() && !has_unsent();) {
        output.clear();
        is_broken_ |= !session_.send(output, kSendThreshold);
        has_more = output.size() >= kSendThreshold;
        // What is left is sent first.
        const bool is_all = !has_more && !loop().turn.is_over();
        is_closing_ |= is_all && (is_broken_ || session_.is_finished());
        if (!output.empty() || is_closing_) send_output();
    }
    if (is_closed()) return;
    update_deferred();
    update_deadline();
    set_awaited_alarm();
    const bool has_progress =
        std::exchange(ended_calls_, session_.ended_calls()) != session_.ended_calls();
    const bool restarts = has_progress && phase() != Phase::kWrite;
    update_phase(restarts ? PhaseTimer::kRestart : PhaseTimer::kContinue);
}

// A write timeout is absolute: it ends a connection that has had unsent answers all the time.
// Requests have times of their own: others end beside one that is awaited.
Phase Connection::phase() const {
    // The client was not offered all answers yet.
    if (loop().turn.is_over()) {
        const bool is_kept = session_.calls() == 0 || place()->phase == Phase::kWrite;
        return is_kept ? place()->phase : Phase::kDeferred;
    }
    if (session_.has_unsent_answers()) return Phase::kWrite;
    if (session_.calls() > 0) return Phase::kDeferred;
    return session_.has_had_calls() ? Phase::kIdle : Phase::kNew;
}

void Connection::on_timeout() {
    const Phase expired = place()->phase;
    if (expired == Phase::kLinger) return close();
    if (expired == Phase::kIdle) {
        if (state_ == State::kServing) announce_drain();
        // An alarm does the rest.
        if (!is_closed()) update_phase(PhaseTimer::kRestart);
        return;
    }
    loop().counters.timeouts.add(1);
    if (expired == Phase::kNew && is_established()) return evict();
    abort();
}

void Connection::on_drain() {
    // Calls that have arrived but were not read yet are answered.
    poll();
    if (is_closed() || is_closing_) return;
    if (!is_established()) return close();
    if (state_ == State::kServing) announce_drain();
}

void Connection::refuse() {
    session_.drain();
    loop().enqueue(this);
}

// The client repeats calls that it has sent meanwhile: GOAWAY says that they were not handled.
void Connection::evict() {
    session_.drain();
    loop().turn.begin();
    if (is_established() && !is_lingering() && can_write()) flush();
    close();
}

void Connection::shed() {
    abort();
}

void Connection::on_alarm() {
    switch (state_) {
        case State::kServing:
            is_old_ = true;
            return announce_drain();
        case State::kAnnounced:
            start_drain();
            return loop().enqueue(this);
        case State::kDraining:
            if (is_old_) return abort();
            is_old_ = true;
            return set_alarm(grpc_.age_.grace);
    }
}

void Connection::announce_drain() {
    state_ = State::kAnnounced;
    set_alarm(kAcknowledgeTime);
    session_.announce_drain();
    loop().enqueue(this);
}

void Connection::start_drain() {
    state_ = State::kDraining;
    clear_alarm();
    // One that is drained earlier, since it was idle or the server stops, keeps its age: its calls
    // are new.
    if (is_old_) {
        set_alarm(grpc_.age_.grace);
    } else if (old_at_) {
        set_alarm(*old_at_ - loop().now);
    }
    session_.drain();
}

void Connection::set_alarm(std::chrono::milliseconds after) {
    clear_alarm();
    alarm_ = grpc_.alarms_.emplace(loop().now + after, this);
}

void Connection::clear_alarm() {
    if (alarm_ != grpc_.alarms_.end()) grpc_.alarms_.erase(alarm_);
    alarm_ = grpc_.alarms_.end();
}

// Its answer is sent in a turn of its own.
void Connection::on_deadline() {
    session_.expire(ServerSession::Time{loop().now - loop().resolution()});
    update_deadline();
}

// loop().now may be behind the time, so a deadline has passed for certain when it is late by that.
void Connection::update_deadline() {
    const auto next = session_.next_deadline();
    if (!next) return clear_deadline();
    const auto at = std::chrono::ceil<std::chrono::milliseconds>(next->time_since_epoch()) +
                    loop().resolution();
    if (deadline_ != grpc_.deadlines_.end() && deadline_->first == at) return;
    clear_deadline();
    deadline_ = grpc_.deadlines_.emplace(at, this);
    loop().tick_at(at);
}

void Connection::clear_deadline() {
    if (deadline_ != grpc_.deadlines_.end()) grpc_.deadlines_.erase(deadline_);
    deadline_ = grpc_.deadlines_.end();
}

// An alarm that is too early for the request that is awaited now stays: there is one in a timeout
// and not one for each request.
void Connection::set_awaited_alarm() {
    if (awaited_alarm_ != grpc_.awaited_.end()) return;
    const auto since = session_.awaited_since();
    if (!since) return;
    const auto began =
        std::chrono::duration_cast<std::chrono::milliseconds>(since->time_since_epoch());
    awaited_alarm_ = grpc_.awaited_.emplace(began + loop().limits.body_timeout, this);
}

void Connection::clear_awaited_alarm() {
    if (awaited_alarm_ != grpc_.awaited_.end()) grpc_.awaited_.erase(awaited_alarm_);
    awaited_alarm_ = grpc_.awaited_.end();
}

void Connection::on_awaited_alarm() {
    clear_awaited_alarm();
    if (is_lingering()) return;
    const ServerSession::Time now{loop().now};
    // The answers to overdue calls are sent in a turn of its own.
    if (session_.end_overdue(now - loop().limits.body_timeout, now)) return set_awaited_alarm();
    loop().counters.timeouts.add(1);
    is_broken_ = true;
    loop().enqueue(this);
}

// While the loop has deferred calls, it does not wait long for sockets.
void Connection::update_deferred() {
    loop().deferred += session_.deferred_calls() - deferred_;
    deferred_ = session_.deferred_calls();
}

}  // namespace sluice::grpc
