// The way of a command to the server that holds its key.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ROUTE_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ROUTE_H_

#include <functional>
#include <string>
#include <string_view>

#include "regional/origin.h"
#include "regional/redis/redis_connection.h"

namespace sluice {

// One server, or a cluster. Owned by the thread of its io_context. Shared, since what it waits for
// may come after it was stopped.
class RedisRoute {
  public:
    struct Events {
        OriginEvents origin;
        // This is a cluster though it was taken for a single server, or the other way round. The
        // route is of no use any more, and may be stopped before this returns.
        std::function<void()> other_kind;
    };

    RedisRoute() = default;
    RedisRoute(const RedisRoute&) = delete;
    RedisRoute& operator=(const RedisRoute&) = delete;
    virtual ~RedisRoute() = default;

    virtual void start(Events events) = 0;
    // Nothing is answered nor told any more.
    virtual void stop() = 0;

    // Sends a command about `key`. Answered within the timeout, by null where the server of that
    // key can't be asked.
    virtual void send(std::string_view key, std::string command, Replied replied) = 0;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ROUTE_H_
