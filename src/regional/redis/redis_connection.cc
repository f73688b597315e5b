#include "regional/redis/redis_connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "regional/redis/complaint.h"

namespace sluice {
namespace {

// More than this waits for a server that does not take it; no memory is spent on more.
constexpr std::size_t kMostUnsent = 64 << 20;

// How many timeouts a server may be behind while it still answers.
constexpr int kTimeoutsBehind = 4;

// What a burst has left behind is given back.
constexpr std::size_t kKeptCapacity = 1 << 20;

}  // namespace

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
    if (!is_connected_ || is_closed_ || unsent_.size() + being_sent_.size() > kMostUnsent) {
        replied(nullptr);
        return;
    }
    unsent_ += command;
    pending_.push_back({std::move(replied), Clock::now()});
    schedule_write();
    watch_time();
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
    // What these hold may hold this; it must not go before the caller returns. A loop that never
    // runs again lets go of them as well.
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
    heard_ = Clock::now();
    reader_.feed({input_.data(), size});
    while (const auto reply = reader_.next()) {
        const bool is_understood = take(*reply);
        if (is_closed_) return;
        if (!is_understood) return fail("the server answers something else than it was asked");
        if (reply->is_error() && says_not_serving(reply->text))
            return fail("Redis says: " + complaint(reply->text, access_->password));
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

// One timer for all commands: each waits as long as the others, so they are due in order. It is set
// for the first of them and not moved when that is answered.
void RedisConnection::watch_time() {
    if (is_timer_set_ || pending_.empty()) return;
    is_timer_set_ = true;
    Clock::time_point at = stalled_at();
    if (overdue_ < pending_.size()) at = std::min(at, pending_[overdue_].since + access_->timeout);
    timer_.expires_at(at);
    timer_.async_wait([this, self = shared_from_this()](boost::system::error_code cancelled) {
        is_timer_set_ = false;
        if (!cancelled && !is_closed_) on_time();
    });
}

void RedisConnection::on_time() {
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
    watch_time();
}

RedisConnection::Clock::time_point RedisConnection::stalled_at() const {
    const Clock::time_point asked = pending_.front().since;
    return std::min(std::max(heard_, asked) + access_->timeout,
                    asked + kTimeoutsBehind * access_->timeout);
}

}  // namespace sluice
