#include "regional/redis/redis_connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "regional/redis/redis_protocol.h"

namespace sluice {
namespace {

// The most that is buffered for a server that does not read.
constexpr std::size_t kMaxUnsent = 64 << 20;

// How many timeouts a server may be behind while it still answers.
constexpr int kMaxTimeoutsBehind = 4;

// A buffer that a burst has made larger is freed.
constexpr std::size_t kKeptCapacity = 1 << 20;

struct TimedReply {
    TimedReply(boost::asio::io_context& loop, Replied to_call)
        : timer(loop), replied(std::move(to_call)) {}

    boost::asio::steady_timer timer;
    Replied replied;  // empty once it was called
};

}  // namespace

Replied with_deadline(boost::asio::io_context& loop,
                      std::chrono::steady_clock::time_point deadline,
                      Replied replied) {
    const auto timed = std::make_shared<TimedReply>(loop, std::move(replied));
    timed->timer.expires_at(deadline);
    // Held weakly: a connection that is closed drops its commands, and their timers with them.
    timed->timer.async_wait([weak = std::weak_ptr(timed)](boost::system::error_code cancelled) {
        const auto held = weak.lock();
        if (cancelled || !held) return;
        const Replied call = std::exchange(held->replied, {});
        if (call) call(nullptr);
    });
    return [timed](const RedisReply* reply) {
        const Replied call = std::exchange(timed->replied, {});
        timed->timer.cancel();
        return !call || call(reply);
    };
}

RedisConnection::RedisConnection(boost::asio::io_context& loop,
                                 std::shared_ptr<const RedisAccess> access)
    : access_(std::move(access)), loop_(loop), stream_(loop, access_->tls.get()), timer_(loop) {}

void RedisConnection::open(const RedisAddress& address, Events events) {
    events_ = std::move(events);
    stream_.connect(address, [this, self = shared_from_this()](RedisStream::Failure failure) {
        if (is_closed_) return;
        if (failure) return fail(*failure);
        is_connected_ = true;
        read();
        const auto connected = events_.connected;
        connected();
    });
}

void RedisConnection::send(std::string_view command, Replied replied) {
    if (!is_connected_ || is_closed_ || unsent_.size() + being_sent_.size() > kMaxUnsent) {
        replied(nullptr);
        return;
    }
    unsent_ += command;
    pending_.push_back({std::move(replied), Clock::now()});
    schedule_write();
    start_timer();
}

void RedisConnection::fail(const std::string& why) {
    if (is_closed_) return;
    const auto self = shared_from_this();
    const std::deque<Pending> unanswered = std::exchange(pending_, {});
    const Events events = std::exchange(events_, {});
    const std::string reason = why;
    close();
    if (events.broken) events.broken(reason);
    for (const Pending& pending : unanswered)
        if (pending.replied) pending.replied(nullptr);
}

void RedisConnection::close() {
    if (is_closed_) return;
    is_closed_ = true;
    stream_.close();
    timer_.cancel();
    // These may own this connection or the caller, which must not be destroyed before it returns.
    boost::asio::post(loop_,
                      [self = shared_from_this(),
                       pending = std::exchange(pending_, {}),
                       events = std::exchange(events_, {})] {});
}

void RedisConnection::read() {
    stream_.read_some(
        input_, [this, self = shared_from_this()](RedisStream::Failure failure, std::size_t size) {
            if (is_closed_) return;
            if (failure) return fail(*failure);
            on_read(size);
        });
}

void RedisConnection::on_read(std::size_t size) {
    last_read_ = Clock::now();
    reader_.feed({input_.data(), size});
    while (const auto reply = reader_.next()) {
        const bool is_understood = take(*reply);
        if (is_closed_) return;
        if (!is_understood) return fail("the server sends a reply that does not match the command");
        if (reply->is_error() && is_not_serving(reply->text))
            return fail("Redis says: " + shown_error(reply->text, access_->password));
    }
    if (reader_.is_broken()) return fail("the server does not speak the Redis protocol");
    read();
}

bool RedisConnection::take(const RedisReply& reply) {
    if (pending_.empty()) return false;
    const Replied replied = std::move(pending_.front().replied);
    pending_.pop_front();
    if (overdue_ > 0) --overdue_;
    return !replied || replied(&reply);
}

void RedisConnection::schedule_write() {
    if (is_write_scheduled_ || !being_sent_.empty()) return;
    is_write_scheduled_ = true;
    boost::asio::post(loop_, [this, self = shared_from_this()] {
        is_write_scheduled_ = false;
        if (!is_closed_) write();
    });
}

void RedisConnection::write() {
    if (unsent_.empty() || !being_sent_.empty()) return;
    std::swap(being_sent_, unsent_);
    stream_.write(being_sent_, [this, self = shared_from_this()](RedisStream::Failure failure) {
        if (is_closed_) return;
        if (failure) return fail(*failure);
        being_sent_.clear();
        if (being_sent_.capacity() > kKeptCapacity) being_sent_.shrink_to_fit();
        write();
    });
}

// One timer for all commands: all have the same timeout, so they are due in order. It is set for
// the first of them and not moved when that is answered.
void RedisConnection::start_timer() {
    if (is_timer_set_ || pending_.empty()) return;
    is_timer_set_ = true;
    Clock::time_point at = stalled_at();
    if (overdue_ < pending_.size()) at = std::min(at, pending_[overdue_].since + access_->timeout);
    timer_.expires_at(at);
    timer_.async_wait([this, self = shared_from_this()](boost::system::error_code cancelled) {
        is_timer_set_ = false;
        if (!cancelled && !is_closed_) on_timer();
    });
}

void RedisConnection::on_timer() {
    if (pending_.empty()) return;
    const Clock::time_point now = Clock::now();
    if (now >= stalled_at())
        return fail("no answer within " + std::to_string(access_->timeout.count()) + " ms");
    while (overdue_ < pending_.size() && pending_[overdue_].since + access_->timeout <= now) {
        const Replied replied = std::exchange(pending_[overdue_].replied, {});
        ++overdue_;
        if (replied) replied(nullptr);
        if (is_closed_) return;
    }
    start_timer();
}

RedisConnection::Clock::time_point RedisConnection::stalled_at() const {
    const Clock::time_point asked = pending_.front().since;
    return std::min(std::max(last_read_, asked) + access_->timeout,
                    asked + kMaxTimeoutsBehind * access_->timeout);
}

}  // namespace sluice
