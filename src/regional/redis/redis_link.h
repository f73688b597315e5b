// A connection to one server that is reestablished when it breaks.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_LINK_H_
#define SLUICE_REGIONAL_REDIS_REDIS_LINK_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "regional/redis/redis_connection.h"
#include "regional/redis/redis_handshake.h"
#include "regional/redis/redis_stream.h"
#include "url/redis_url.h"

namespace sluice {

// The addresses to try in order, or why there are none.
struct Location {
    std::vector<RedisAddress> addresses;
    std::string failure = {};
};
// Determines the addresses. Calls `located` once, at once or later, or never if the caller was
// destroyed.
using Locate = std::function<void(std::function<void(Location)> located)>;

// The bytes of a command; shared, since it may have to be sent again.
using SharedCommand = std::shared_ptr<const std::string>;

// Connects, and reconnects whenever the connection breaks, after a pause that grows to a second.
//
// A server has possibly lost data if it was started anew, is another one than before, or has lost
// its marker. If it does not identify its start (INFO is not allowed), each new connection counts
// as a new start.
//
// Owned by the thread of its io_context.
class RedisLink : public std::enable_shared_from_this<RedisLink> {
  public:
    struct Events {
        // The server answers commands. `is_intact` is false if it may have lost data since the last
        // time. Repeated if the connection was replaced without an outage.
        std::function<void(bool is_intact)> up;
        // It does not. Called again if the reason changes.
        std::function<void(const std::string& why)> down;
        // It answers, but has lost data.
        std::function<void()> data_lost;
        // It answers, but refused the write that each connection starts with.
        std::function<void(const std::string& why)> write_refused;
        // The marker belongs to another server of the Cluster now.
        std::function<void()> marker_moved;
    };
    // `refusal` is the error of Redis if it refused the write, else empty.
    using MarkerWritten = std::function<void(const std::string& refusal)>;

    RedisLink(boost::asio::io_context& loop,
              std::shared_ptr<const RedisAccess> access,
              Locate locate,
              HandshakePlan plan);

    void start(Events events);
    // Calls nothing any more, also not for outstanding commands.
    void stop();
    // Calls no event any more; outstanding commands are answered with null.
    void retire();
    // Uses another marker from now on; the former one is left to expire.
    void set_marker(std::string key);

    bool is_up() const { return is_up_; }
    const RedisAddress& address() const { return address_; }  // the one tried last
    const std::string& marker() const { return plan_.marker; }
    bool is_cluster() const { return server_.is_cluster; }

    // Answered with null at once while the link is down. A server that has lost the scripts gets
    // them again.
    void send(SharedCommand command, Replied replied);

    // Writes the marker, which shows whether the server takes writes and whether it has lost data.
    // Also asks Sentinels whether they name another master by now: they may leave the former one
    // writable for ten seconds.
    void write_marker(MarkerWritten written);

  private:
    using Clock = std::chrono::steady_clock;

    void connect();
    void on_located(Location location);
    void try_next_address();
    void shake_hands();
    void on_shaken(const HandshakeOutcome& outcome);
    void on_broken(const std::string& why);
    void report_down(const std::string& why);
    void reconnect_later();
    void on_marker_value(const std::string& value);
    void follow_sentinels();
    void replace_connection(const std::string& why);

    boost::asio::io_context& loop_;
    const std::shared_ptr<const RedisAccess> access_;
    const Locate locate_;
    HandshakePlan plan_;
    Events events_;
    boost::asio::steady_timer timer_;  // the deadline of an attempt, or the pause before the next
    std::vector<RedisAddress> untried_;
    std::string failures_;  // of the attempts since the last pause
    RedisAddress address_;
    std::shared_ptr<RedisConnection> connection_;
    HandshakeOutcome server_;   // of the last handshake that succeeded
    std::string marker_value_;  // as last seen; empty: not yet
    Clock::time_point up_since_{};
    std::chrono::milliseconds pause_;
    std::string why_;  // the link is down, as last reported
    bool was_up_ = false;
    bool is_up_ = false;
    bool is_replacing_ = false;  // the connection is broken on purpose
    bool is_following_ = false;  // the Sentinels are being asked while the link is up
    bool is_stopped_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_LINK_H_
