#include "regional/redis/redis_route.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "regional/redis/redis_connection.h"

namespace sluice {

SingleServer::SingleServer(boost::asio::io_context& loop,
                           std::shared_ptr<const RedisAccess> access,
                           Locate locate,
                           HandshakePlan plan)
    : link_(std::make_shared<RedisLink>(
          loop, std::move(access), std::move(locate), std::move(plan))) {}

void SingleServer::start(Events events) {
    events_ = std::move(events);
    const auto weak = weak_from_this();
    link_->start({.up =
                      [weak](bool is_intact) {
                          if (const auto self = weak.lock()) self->on_up(is_intact);
                      },
                  .down =
                      [weak](const std::string& why) {
                          if (const auto self = weak.lock()) self->on_down(why);
                      },
                  .data_lost =
                      [weak] {
                          if (const auto self = weak.lock()) self->events_.origin.data_lost();
                      },
                  .write_refused =
                      [weak](const std::string& why) {
                          if (const auto self = weak.lock())
                              self->events_.origin.write_refused(why);
                      },
                  // It has become a member of a Cluster, which the next handshake finds out.
                  .marker_moved = [] {}});
}

void SingleServer::stop() {
    link_->stop();
}

void SingleServer::send(std::string_view, std::string command, Replied replied) {
    link_->send(std::make_shared<const std::string>(std::move(command)), std::move(replied));
}

std::vector<std::shared_ptr<RedisLink>> SingleServer::links() const {
    if (!link_->is_up()) return {};
    return {link_};
}

void SingleServer::on_up(bool is_intact) {
    if (link_->is_cluster()) return events_.other_kind();
    if (!std::exchange(is_available_, true)) return events_.origin.available(is_intact);
    if (!is_intact) events_.origin.data_lost();
}

void SingleServer::on_down(const std::string& why) {
    is_available_ = false;
    events_.origin.unavailable(why);
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMinTimeout{1'000};

// Owned by the thread of its io_context.
class SentinelLocator : public std::enable_shared_from_this<SentinelLocator> {
  public:
    SentinelLocator(boost::asio::io_context& loop,
                    std::shared_ptr<const RedisAccess> access,
                    SentinelMaster master)
        : loop_(loop), access_(std::move(access)), master_(std::move(master)), timer_(loop) {}
    ~SentinelLocator() { disconnect(); }
    SentinelLocator(const SentinelLocator&) = delete;
    SentinelLocator& operator=(const SentinelLocator&) = delete;

    // Cancels a lookup that is underway. The connection to the Sentinel that answered last is kept.
    void locate(std::function<void(Location)> located) {
        is_kept_ = connection_ && !located_;
        located_ = std::move(located);
        failures_.clear();
        asked_ = 0;
        if (is_kept_) return ask();
        disconnect();
        connect();
    }

  private:
    const RedisAddress& sentinel() const {
        return master_.sentinels[(first_ + asked_) % master_.sentinels.size()];
    }

    void connect();
    void on_connected();
    void ask();
    void limit_time();
    bool on_reply(const RedisReply* reply);
    void on_failed(const std::string& why);
    void finish(Location location);
    void disconnect();

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const SentinelMaster master_;
    boost::asio::steady_timer timer_;
    std::shared_ptr<RedisConnection> connection_;
    std::function<void(Location)> located_;  // empty: no lookup is underway
    bool is_kept_ = false;                   // the lookup uses the connection of an earlier one
    std::string failures_;
    std::size_t first_ = 0;  // the one that answered last
    std::size_t asked_ = 0;  // how many have failed since
};

void SentinelLocator::limit_time() {
    const milliseconds timeout = std::max(access_->timeout, kMinTimeout);
    timer_.expires_after(timeout);
    timer_.async_wait([weak = weak_from_this(), connection = connection_, timeout](
                          boost::system::error_code cancelled) {
        const auto self = weak.lock();
        if (cancelled || !self || self->connection_ != connection) return;
        connection->fail("no answer within " + std::to_string(timeout.count()) + " ms");
    });
}

void SentinelLocator::connect() {
    connection_ = std::make_shared<RedisConnection>(loop_, access_);
    limit_time();
    const auto weak = weak_from_this();
    connection_->open(sentinel(),
                      {.connected =
                           [weak] {
                               if (const auto self = weak.lock()) self->on_connected();
                           },
                       .broken =
                           [weak](const std::string& why) {
                               if (const auto self = weak.lock()) self->on_failed(why);
                           }});
}

// A Sentinel that wants no login refuses one; one that wants another refuses the question.
void SentinelLocator::on_connected() {
    const auto& [tls, user, password, database, timeout] = *access_;
    const auto ignore = [](const RedisReply*) { return true; };
    if (!user.empty()) {
        connection_->send(redis_command({"AUTH", user, password}), ignore);
    } else if (!password.empty()) {
        connection_->send(redis_command({"AUTH", password}), ignore);
    }
    ask();
}

void SentinelLocator::ask() {
    limit_time();
    connection_->send(redis_command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_.name}),
                      [weak = weak_from_this()](const RedisReply* reply) {
                          const auto self = weak.lock();
                          return !self || self->on_reply(reply);
                      });
}

bool SentinelLocator::on_reply(const RedisReply* reply) {
    if (reply == nullptr) return true;  // the connection breaks, or the timer ends it
    if (reply->is_error()) {
        connection_->fail("Redis says: " + shown_error(reply->text, access_->password));
        return true;
    }
    if (reply->type == RedisReply::Type::kNil) {
        connection_->fail("it knows no master of that name");
        return true;
    }
    if (!reply->is_array(2)) return false;
    const std::string& port = reply->elements[1].text;
    RedisAddress address{.host = reply->elements[0].text};
    const auto [end, failed] =
        std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (failed != std::errc{} || end != port.data() + port.size() || address.host.empty())
        return false;
    first_ = (first_ + asked_) % master_.sentinels.size();
    finish({.addresses = {std::move(address)}});
    return true;
}

void SentinelLocator::on_failed(const std::string& why) {
    timer_.cancel();
    connection_.reset();
    if (!located_) return;
    // The Sentinel may have been restarted since the last lookup.
    if (std::exchange(is_kept_, false)) return connect();
    failures_ +=
        (failures_.empty() ? "Sentinel " : "; Sentinel ") + sentinel().shown() + ": " + why;
    if (++asked_ < master_.sentinels.size()) return connect();
    finish({.addresses = {}, .failure = failures_});
}

void SentinelLocator::finish(Location location) {
    timer_.cancel();
    const auto located = std::exchange(located_, {});
    if (located) located(std::move(location));
}

void SentinelLocator::disconnect() {
    timer_.cancel();
    if (connection_) connection_->close();
    connection_.reset();
}

}  // namespace

Locate locate_by_sentinels(boost::asio::io_context& loop,
                           std::shared_ptr<const RedisAccess> access,
                           SentinelMaster master) {
    const auto locator =
        std::make_shared<SentinelLocator>(loop, std::move(access), std::move(master));
    return
        [locator](std::function<void(Location)> located) { locator->locate(std::move(located)); };
}

}  // namespace sluice
