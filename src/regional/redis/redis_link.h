// A server that is kept connected.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_LINK_H_
#define SLUICE_REGIONAL_REDIS_REDIS_LINK_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "regional/redis/redis_access.h"
#include "regional/redis/redis_connection.h"
#include "regional/redis/redis_handshake.h"

namespace sluice {

// Connects, shakes hands, listens to the server's heart, and begins anew whenever the connection
// breaks, after a pause that grows to a second. It never gives up.
//
// A server may have forgotten what it held where it was started anew, or has lost the marker. Where
// it does not tell one start from another, each new connection is taken for a new start.
//
// Owned by the thread of its io_context.
class RedisLink : public std::enable_shared_from_this<RedisLink> {
  public:
    struct Events {
        // It answers commands. `remembers` is false where it may have lost what it held before.
        std::function<void(bool remembers)> up;
        // It does not, once per reason.
        std::function<void(const std::string& why)> down;
        // It answers, but has lost what it held.
        std::function<void()> forgot;
        // The marker belongs to another server of the cluster now.
        std::function<void()> marker_moved;
    };

    RedisLink(boost::asio::io_context& loop,
              std::shared_ptr<const RedisAccess> access,
              RedisAddress address,
              RedisHandshake::Plan plan);

    void start(Events events);
    // Nothing is answered nor told any more.
    void stop();
    // Nothing is told any more; what is outstanding is answered by null.
    void retire();
    // What to watch from now on; what was watched before is left to expire.
    void watch(Marker marker);

    bool is_up() const { return is_up_; }
    const RedisAddress& address() const { return address_; }
    const Marker& marker() const { return plan_.marker; }
    bool is_cluster() const { return server_.is_cluster; }

    // Answered by null at once while it is down.
    void send(std::string_view command, Replied replied);

  private:
    void connect();
    void shake_hands();
    void on_shaken(const HandshakeOutcome& outcome);
    void on_broken(const std::string& why);
    void tell_down(const std::string& why);
    void reconnect_later();
    void await_heartbeat();
    void beat();
    bool on_beat(const RedisReply& reply);
    void mark_again();

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const RedisAddress address_;
    RedisHandshake::Plan plan_;
    Events events_;
    // For one thing at a time: the deadline of a handshake, the pause before the next, a heartbeat.
    boost::asio::steady_timer timer_;
    std::shared_ptr<RedisConnection> connection_;
    RedisServerInfo server_;
    std::chrono::milliseconds pause_;
    std::string why_;  // it is down, as told last
    bool was_up_ = false;
    bool is_up_ = false;
    bool is_stopped_ = false;
    bool is_marked_ = false;  // the marker was seen or written, and must be there
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_LINK_H_
