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

#include "regional/redis/redis_access.h"
#include "regional/redis/redis_reply.h"
#include "regional/redis/redis_stream.h"

namespace sluice {

// Told once of each command: its reply, or null where none came in time. Returns false for a reply
// that can't be one to this command; the connection is broken then.
using Replied = std::function<bool(const RedisReply*)>;

// Lives until it breaks, and is not mended then. Any number of commands may be outstanding; all
// that are given in one turn of the loop leave in one write.
//
// 1. A command is answered within the timeout: by null if nothing else came.
// 2. A server that has said nothing for a timeout although it was asked is stalled, and so is one
//    that is several timeouts behind: the connection breaks. One that is merely slow for a moment,
//    under more than it can do at once, is given the chance to work it off: to begin anew would
//    only repeat the work.
//
// Owned by the thread of its io_context.
class RedisConnection : public std::enable_shared_from_this<RedisConnection> {
  public:
    struct Events {
        std::function<void()> connected;
        // Once, and nothing after it, but for the commands that are answered by null.
        std::function<void(const std::string& why)> broken;
    };

    RedisConnection(boost::asio::io_context& loop, std::shared_ptr<const RedisAccess> access);

    void open(const RedisAddress& address, Events events);
    void send(std::string_view command, Replied replied);
    // Breaks it, for a reason that the caller knows.
    void fail(const std::string& why);
    // Closes it without a word: nothing is answered nor told any more.
    void close();

  private:
    using Clock = std::chrono::steady_clock;

    struct Pending {
        Replied replied;  // empty once it was answered by null
        Clock::time_point since;
    };

    void read();
    void on_read(std::size_t size);
    bool take(const RedisReply& reply);
    void schedule_write();
    void write();
    void watch_time();
    void on_time();
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
    std::size_t overdue_ = 0;  // of pending_, from its front: answered by null, reply still to come
    Clock::time_point heard_{};
    bool is_connected_ = false;
    bool is_write_scheduled_ = false;
    bool is_timer_set_ = false;
    bool is_closed_ = false;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_CONNECTION_H_
