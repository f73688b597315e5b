#include "regional/redis/single_server.h"

#include <utility>

namespace sluice {

SingleServer::SingleServer(boost::asio::io_context& loop,
                           std::shared_ptr<const RedisAccess> access,
                           RedisAddress address,
                           Marker marker)
    : link_(std::make_shared<RedisLink>(
          loop,
          std::move(access),
          std::move(address),
          RedisHandshake::Plan{.marker = std::move(marker), .in_cluster = false})) {}

void SingleServer::start(Events events) {
    events_ = std::move(events);
    const auto weak = weak_from_this();
    link_->start({.up =
                      [weak](bool remembers) {
                          if (const auto self = weak.lock()) self->on_up(remembers);
                      },
                  .down =
                      [weak](const std::string& why) {
                          if (const auto self = weak.lock()) self->events_.origin.away(why);
                      },
                  .forgot =
                      [weak] {
                          if (const auto self = weak.lock()) self->events_.origin.forgot();
                      },
                  // It became a cluster under our hands, and will say so at the next handshake.
                  .marker_moved = [] {}});
}

void SingleServer::stop() {
    link_->stop();
}

void SingleServer::send(std::string_view, std::string command, Replied replied) {
    link_->send(command, std::move(replied));
}

void SingleServer::on_up(bool remembers) {
    if (link_->is_cluster()) return events_.other_kind();
    events_.origin.back(remembers);
}

}  // namespace sluice
