// The route of a command to the server that holds its key: a single server or the master behind
// Sentinels here, a Cluster in cluster.h.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ROUTE_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ROUTE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "regional/origin.h"
#include "regional/redis/redis_link.h"

namespace sluice {

// Owned by the thread of its io_context. Shared, since replies may come after it was stopped.
class RedisRoute {
  public:
    struct Events {
        OriginEvents origin;
        // The server is a member of a Cluster and this route is not for one, or the other way
        // round. The route is unusable, and may be stopped before this returns.
        std::function<void()> other_kind;
    };

    RedisRoute() = default;
    RedisRoute(const RedisRoute&) = delete;
    RedisRoute& operator=(const RedisRoute&) = delete;
    virtual ~RedisRoute() = default;

    virtual void start(Events events) = 0;
    // Afterwards no event and no answer is delivered.
    virtual void stop() = 0;

    // Sends a command whose keys are all in the slot of `key`, or anywhere if the route is not
    // sharded. Answered within the timeout, with null if the server of that key is not connected.
    virtual void send(std::string_view key, std::string command, Replied replied) = 0;

    // Whether keys are spread over servers by their slots.
    virtual bool is_sharded() const = 0;

    // The servers that are connected.
    virtual std::vector<std::shared_ptr<RedisLink>> links() const = 0;
};

// A single server, or the master that Sentinels name.
class SingleServer : public RedisRoute, public std::enable_shared_from_this<SingleServer> {
  public:
    SingleServer(boost::asio::io_context& loop,
                 std::shared_ptr<const RedisAccess> access,
                 Locate locate,
                 HandshakePlan plan);

    void start(Events events) override;
    void stop() override;
    void send(std::string_view key, std::string command, Replied replied) override;
    bool is_sharded() const override { return false; }
    std::vector<std::shared_ptr<RedisLink>> links() const override;

  private:
    void on_up(bool is_intact);
    void on_down(const std::string& why);

    const std::shared_ptr<RedisLink> link_;
    Events events_;
    bool is_available_ = false;
};

// The Sentinels of a master, and its name.
struct SentinelMaster {
    std::vector<RedisAddress> sentinels;
    std::string name;
};

// Locates the master by asking the Sentinels one after the other, beginning with the one that
// answered last. Logs in to them as to the master; a Sentinel without a password is fine.
Locate locate_by_sentinels(boost::asio::io_context& loop,
                           std::shared_ptr<const RedisAccess> access,
                           SentinelMaster master);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ROUTE_H_
