#include "regional/redis/redis_link.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "regional/redis/redis_command.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{1'000};
constexpr milliseconds kBetweenBeats{1'000};
constexpr milliseconds kLeastForHandshake{1'000};

// Between a half and all of it, so that the nodes of a region don't come back in step.
milliseconds jittered(milliseconds pause) {
    const auto half = static_cast<std::uint64_t>(pause.count()) / 2;
    return milliseconds(half + system_random() % (half + 1));
}

}  // namespace

RedisLink::RedisLink(boost::asio::io_context& loop,
                     std::shared_ptr<const RedisAccess> access,
                     RedisAddress address,
                     RedisHandshake::Plan plan)
    : loop_(loop),
      access_(std::move(access)),
      address_(std::move(address)),
      plan_(std::move(plan)),
      timer_(loop),
      pause_(kFirstPause) {}

void RedisLink::start(Events events) {
    events_ = std::move(events);
    connect();
}

void RedisLink::stop() {
    is_stopped_ = true;
    is_up_ = false;
    timer_.cancel();
    if (connection_) connection_->close();
    connection_.reset();  // it may hold this
}

void RedisLink::retire() {
    const auto connection = connection_;
    is_stopped_ = true;
    is_up_ = false;
    timer_.cancel();
    connection_.reset();
    if (connection) connection->fail("it is not needed any more");
}

void RedisLink::watch(Marker marker) {
    if (marker.key == plan_.marker.key) return;
    plan_.marker = std::move(marker);
    is_marked_ = false;
}

void RedisLink::send(std::string_view command, Replied replied) {
    if (is_up_) return connection_->send(command, std::move(replied));
    replied(nullptr);
}

void RedisLink::connect() {
    connection_ = std::make_shared<RedisConnection>(loop_, access_);
    const milliseconds patience = std::max(access_->timeout, kLeastForHandshake);
    timer_.expires_after(patience);
    timer_.async_wait([weak = weak_from_this(), connection = connection_, patience](
                          boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (cancelled || !self || self->is_up_ || self->connection_ != connection) return;
        const std::string what = self->access_->tls ? "no TLS connection" : "no connection";
        connection->fail(what + " within " + std::to_string(patience.count()) + " ms");
    });
    connection_->open(
        address_,
        {.connected = [self = shared_from_this()] { self->shake_hands(); },
         .broken = [self = shared_from_this()](const std::string& why) { self->on_broken(why); }});
}

void RedisLink::shake_hands() {
    const auto done = [self = shared_from_this()](const HandshakeOutcome& outcome) {
        if (!self->is_stopped_) self->on_shaken(outcome);
    };
    std::make_shared<RedisHandshake>(access_, connection_, plan_, done)->run();
}

void RedisLink::on_shaken(const HandshakeOutcome& outcome) {
    if (!outcome.failure.empty()) return connection_->fail(outcome.failure);
    const bool is_same_start =
        !outcome.server.run_id.empty() && outcome.server.run_id == server_.run_id;
    const bool has_marker = plan_.marker.key.empty() || outcome.had_marker || !is_marked_;
    const bool remembers = !was_up_ || (is_same_start && has_marker);
    server_ = outcome.server;
    was_up_ = is_up_ = true;
    is_marked_ = true;
    pause_ = kFirstPause;
    why_.clear();
    await_heartbeat();
    events_.up(remembers);
}

void RedisLink::on_broken(const std::string& why) {
    if (is_stopped_) return;
    is_up_ = false;
    reconnect_later();
    tell_down(why);
}

void RedisLink::tell_down(const std::string& why) {
    if (why == why_) return;
    why_ = why;
    events_.down(why);
}

void RedisLink::reconnect_later() {
    timer_.expires_after(jittered(pause_));
    pause_ = std::min(2 * pause_, kLongestPause);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (!cancelled && self && !self->is_stopped_) self->connect();
    });
}

void RedisLink::await_heartbeat() {
    timer_.expires_after(kBetweenBeats);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (!cancelled && self && self->is_up_) self->beat();
    });
}

// It is also what finds a dead connection on which nothing else is asked.
void RedisLink::beat() {
    const std::string command =
        plan_.marker.key.empty() ? redis_command({"PING"}) : keep_marker_command(plan_.marker);
    send(command, [self = shared_from_this(), marker = plan_.marker.key](const RedisReply* reply) {
        if (!self->is_up_) return true;
        self->await_heartbeat();
        if (reply == nullptr || marker != self->plan_.marker.key || marker.empty()) return true;
        return self->on_beat(*reply);
    });
}

bool RedisLink::on_beat(const RedisReply& reply) {
    if (reply.is_error("MOVED")) {
        events_.marker_moved();
        return true;
    }
    if (reply.is_error()) return true;
    if (reply.type != RedisReply::Type::kInteger) return false;
    if (reply.integer == 0) {
        mark_again();
        return true;
    }
    is_marked_ = true;
    return true;
}

// A marker that can't be written, for want of memory say, is tried again at the next beat.
void RedisLink::mark_again() {
    send(rewrite_marker_command(plan_.marker),
         [self = shared_from_this(), marker = plan_.marker.key](const RedisReply* reply) {
             const bool is_written = reply != nullptr && !reply->is_error();
             if (!is_written || !self->is_up_ || marker != self->plan_.marker.key) return true;
             if (std::exchange(self->is_marked_, true)) self->events_.forgot();
             return true;
         });
}

}  // namespace sluice
