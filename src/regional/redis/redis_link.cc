#include "regional/redis/redis_link.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "regional/redis/origin_commands.h"
#include "regional/redis/redis_protocol.h"
#include "regional/redis/redis_scripts.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{50};
constexpr milliseconds kMaxPause{1'000};
constexpr milliseconds kMinHandshakeTime{1'000};

// How long a connection to a server that has become a replica is kept.
constexpr milliseconds kReadOnlyTime{2'000};

// Between a half and all of it, so that the nodes of a region don't reconnect in step.
milliseconds jittered(milliseconds pause) {
    const auto half = static_cast<std::uint64_t>(pause.count()) / 2;
    return milliseconds(half + system_random() % (half + 1));
}

}  // namespace

RedisLink::RedisLink(boost::asio::io_context& loop,
                     std::shared_ptr<const RedisAccess> access,
                     Locate locate,
                     HandshakePlan plan)
    : loop_(loop),
      access_(std::move(access)),
      locate_(std::move(locate)),
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
    connection_.reset();  // it may own this
}

void RedisLink::retire() {
    const auto connection = connection_;
    is_stopped_ = true;
    is_up_ = false;
    timer_.cancel();
    connection_.reset();
    if (connection) connection->fail("it is not needed any more");
}

void RedisLink::set_marker(std::string key) {
    if (key == plan_.marker) return;
    plan_.marker = std::move(key);
    marker_value_.clear();
}

void RedisLink::send(SharedCommand command, Replied replied) {
    if (!is_up_) {
        replied(nullptr);
        return;
    }
    const auto deadline = Clock::now() + access_->timeout;
    connection_->send(
        *command,
        [self = shared_from_this(), command, deadline, replied = std::move(replied)](
            const RedisReply* reply) {
            const bool lacks_script = reply != nullptr && reply->is_error("NOSCRIPT");
            if (!lacks_script || !self->is_up_) return replied(reply);
            for (const RedisScript* script : all_scripts())
                self->connection_->send(redis_command({"SCRIPT", "LOAD", script->text}),
                                        [](const RedisReply*) { return true; });
            self->connection_->send(*command, with_deadline(self->loop_, deadline, replied));
            return true;
        });
}

void RedisLink::write_marker(MarkerWritten written) {
    if (!is_up_ || plan_.marker.empty()) return written({});
    auto replied = [self = shared_from_this(), key = plan_.marker, written = std::move(written)](
                       const RedisReply* reply) {
        const bool is_refused =
            reply != nullptr && reply->is_error() && is_refused_write(reply->text);
        const bool is_known = !self->is_stopped_ && key == self->plan_.marker;
        if (reply != nullptr && reply->is_error("MOVED") && is_known) self->events_.marker_moved();
        const bool is_value = reply != nullptr && reply->type == RedisReply::Type::kText;
        if (is_value && is_known) self->on_marker_value(reply->text);
        written(is_refused ? shown_error(reply->text, self->access_->password) : std::string());
        // A host name may lead to the new master by now, and Sentinels know it.
        const bool is_replica = is_refused && is_read_only(reply->text);
        if (is_replica && self->is_up_ && Clock::now() >= self->up_since_ + kReadOnlyTime)
            self->replace_connection("it is read-only");
        return reply == nullptr || reply->is_error() || is_value;
    };
    send(std::make_shared<const std::string>(marker_command(plan_.marker)), std::move(replied));
    follow_sentinels();
}

void RedisLink::on_marker_value(const std::string& value) {
    const std::string before = std::exchange(marker_value_, value);
    if (!before.empty() && before != value) events_.data_lost();
}

void RedisLink::follow_sentinels() {
    if (plan_.expected != ExpectedServer::kSentinelMaster || std::exchange(is_following_, true))
        return;
    locate_([weak = weak_from_this()](const Location& location) {
        const auto self = weak.lock();
        if (!self || self->is_stopped_) return;
        self->is_following_ = false;
        const bool has_moved = !location.addresses.empty() &&
                               location.addresses.front() != self->address_ && self->is_up_;
        if (has_moved) self->replace_connection("the Sentinels name another master");
    });
}

// Connects anew, which is reported only if it fails.
void RedisLink::replace_connection(const std::string& why) {
    is_replacing_ = true;
    connection_->fail(why);
}

void RedisLink::connect() {
    failures_.clear();
    is_following_ = false;
    locate_([weak = weak_from_this()](Location location) {
        const auto self = weak.lock();
        if (self && !self->is_stopped_) self->on_located(std::move(location));
    });
}

void RedisLink::on_located(Location location) {
    untried_ = std::move(location.addresses);
    std::reverse(untried_.begin(), untried_.end());
    if (!untried_.empty()) return try_next_address();
    reconnect_later();
    report_down(location.failure);
}

void RedisLink::try_next_address() {
    address_ = std::move(untried_.back());
    untried_.pop_back();
    connection_ = std::make_shared<RedisConnection>(loop_, access_);
    const milliseconds timeout = std::max(access_->timeout, kMinHandshakeTime);
    timer_.expires_after(timeout);
    timer_.async_wait([weak = weak_from_this(), connection = connection_, timeout](
                          boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (cancelled || !self || self->is_up_ || self->connection_ != connection) return;
        const std::string what = self->access_->tls ? "no TLS connection" : "no connection";
        connection->fail(what + " within " + std::to_string(timeout.count()) + " ms");
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
    const bool is_same_start = !outcome.run_id.empty() && outcome.run_id == server_.run_id;
    const bool has_value = !outcome.marker.empty() && outcome.marker == plan_.marker;
    const bool has_lost_marker =
        has_value && !marker_value_.empty() && marker_value_ != outcome.marker_value;
    const bool is_intact = !was_up_ || (is_same_start && !has_lost_marker);
    server_ = outcome;
    if (has_value) marker_value_ = outcome.marker_value;
    timer_.cancel();
    was_up_ = is_up_ = true;
    up_since_ = Clock::now();
    pause_ = kFirstPause;
    why_.clear();
    events_.up(is_intact);
    if (!is_stopped_ && !outcome.refusal.empty()) events_.write_refused(outcome.refusal);
}

void RedisLink::on_broken(const std::string& why) {
    if (is_stopped_) return;
    const bool is_named = plan_.expected == ExpectedServer::kClusterSeed ||
                          plan_.expected == ExpectedServer::kSentinelMaster;
    const std::string failure = is_named ? address_.shown() + ": " + why : why;
    if (std::exchange(is_up_, false)) {
        if (std::exchange(is_replacing_, false)) return connect();
        reconnect_later();
        return report_down(failure);
    }
    failures_ += (failures_.empty() ? "" : "; ") + failure;
    if (!untried_.empty()) return try_next_address();
    reconnect_later();
    report_down(failures_);
}

void RedisLink::report_down(const std::string& why) {
    if (why == why_) return;
    why_ = why;
    events_.down(std::string(why));
}

void RedisLink::reconnect_later() {
    timer_.expires_after(jittered(pause_));
    pause_ = std::min(2 * pause_, kMaxPause);
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (!cancelled && self && !self->is_stopped_) self->connect();
    });
}

}  // namespace sluice
