// One connection to one server: commands out, replies in, in order.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_CONNECTION_H_
#define SLUICE_REGIONAL_REDIS_REDIS_CONNECTION_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "regional/redis/redis_protocol.h"
#include "regional/redis/redis_stream.h"
#include "url/redis_url.h"

namespace sluice {

// Called once per command, with its reply, or with null if none came in time. Returns false for a
// reply that can't be one to this command; the connection breaks then.
using Replied = std::function<bool(const RedisReply*)>;

// Wraps `replied` so that it is called once: with the first reply, or with null at `deadline`. For
// a command that is sent again within the timeout of the first attempt.
Replied with_deadline(boost::asio::io_context& loop,
                      std::chrono::steady_clock::time_point deadline,
                      Replied replied);

// A connection lives until it breaks, and is not reopened then. Any number of commands may be
// outstanding; all that are sent in one turn of the loop leave in one write.
//
// 1. A command is answered within the timeout, with null if no reply came.
// 2. The connection breaks if the server sends nothing for a timeout although commands are
//    outstanding, or is four timeouts behind. A server that is slow for a moment may catch up: to
//    reconnect would only repeat the work.
//
// Owned by the thread of its io_context.
class RedisConnection : public std::enable_shared_from_this<RedisConnection> {
  public:
    struct Events {
        std::function<void()> connected;
        // Called once, as the last event. The outstanding commands are answered with null
        // afterwards.
        std::function<void(const std::string& why)> broken;
    };

    RedisConnection(boost::asio::io_context& loop, std::shared_ptr<const RedisAccess> access);

    void open(const RedisAddress& address, Events events);
    void send(std::string_view command, Replied replied);
    // Breaks the connection, with `why` as the reason.
    void fail(const std::string& why);
    // Closes it. No callback is called afterwards.
    void close();

  private:
    using Clock = std::chrono::steady_clock;

    struct Pending {
        Replied replied;  // empty once it was answered with null
        Clock::time_point since;
    };

    void read();
    void on_read(std::size_t size);
    bool take(const RedisReply& reply);
    void schedule_write();
    void write();
    void start_timer();
    void on_timer();
    Clock::time_point stalled_at() const;

    const std::shared_ptr<const RedisAccess> access_;
    boost::asio::io_context& loop_;
    RedisStream stream_;
    boost::asio::steady_timer timer_;
    Events events_;
    ReplyReader reader_;
    std::array<char, 16384> input_;
    std::string unsent_;
    std::string being_sent_;
    std::deque<Pending> pending_;
    std::size_t overdue_ = 0;  // how many of pending_, from its front, were answered with null
    Clock::time_point last_read_{};
    bool is_connected_ = false;
    bool is_write_scheduled_ = false;
    bool is_timer_set_ = false;
    bool is_closed_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_CONNECTION_H_
