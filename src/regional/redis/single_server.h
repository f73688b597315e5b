// A Redis that is one server.
#ifndef SLUICE_REGIONAL_REDIS_SINGLE_SERVER_H_
#define SLUICE_REGIONAL_REDIS_SINGLE_SERVER_H_

#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "regional/redis/redis_link.h"
#include "regional/redis/redis_route.h"

namespace sluice {

class SingleServer : public RedisRoute, public std::enable_shared_from_this<SingleServer> {
  public:
    SingleServer(boost::asio::io_context& loop,
                 std::shared_ptr<const RedisAccess> access,
                 RedisAddress address,
                 Marker marker);

    void start(Events events) override;
    void stop() override;
    void send(std::string_view key, std::string command, Replied replied) override;

  private:
    void on_up(bool remembers);

    const std::shared_ptr<RedisLink> link_;
    Events events_;
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_SINGLE_SERVER_H_
