#include "regional/redis/late_reply.h"

#include <memory>
#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace sluice {
namespace {

struct Waiting {
    Waiting(boost::asio::io_context& loop, Replied to_tell)
        : timer(loop), replied(std::move(to_tell)) {}

    boost::asio::steady_timer timer;
    Replied replied;  // empty once it was told
};

}  // namespace

Replied until(boost::asio::io_context& loop,
              std::chrono::steady_clock::time_point deadline,
              Replied replied) {
    const auto waiting = std::make_shared<Waiting>(loop, std::move(replied));
    waiting->timer.expires_at(deadline);
    // Held weakly: a command that is dropped without a word takes its timer with it.
    waiting->timer.async_wait([weak = std::weak_ptr(waiting)](boost::system::error_code cancelled) {
        const auto held = weak.lock();
        if (cancelled || !held) return;
        const Replied told = std::exchange(held->replied, {});
        if (told) told(nullptr);
    });
    return [waiting](const RedisReply* reply) {
        const Replied told = std::exchange(waiting->replied, {});
        waiting->timer.cancel();
        return !told || told(reply);
    };
}

}  // namespace sluice
