#include "regional/redis/redis_route.h"

#include <utility>

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

}  // namespace sluice
