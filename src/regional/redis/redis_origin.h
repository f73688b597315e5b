// An origin in Redis: a single server or a Redis Cluster, which it finds out itself. Anything that
// speaks the protocol of Redis 6.2 will do, Valkey and Dragonfly among them.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ORIGIN_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ORIGIN_H_

#include <sluice/result.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "regional/origin.h"
#include "regional/redis/redis_tls.h"
#include "regional/redis/redis_url.h"

namespace sluice {

struct RedisOptions {
    RedisUrl url = {};
    RedisTlsFiles tls = {};  // used where the URL asks for TLS
    std::string region =
        {};                 // nodes of different regions may share a Redis and don't see each other
    std::string node = {};  // of this process alone, and new at each start
    std::chrono::milliseconds timeout{300};
    // Told where Redis refuses a call but stays connected, as one without memory does; once per
    // reason. For people, and holds no secret. May be empty.
    std::function<void(const std::string& why)> refused = {};
};

// The error is about the options alone: what becomes of the server is told by the origin's events.
//
// It runs on the thread of `loop`, which must outlive it, and never blocks. Host names are looked
// up on the thread that Asio has for that. It may be destroyed in the midst of an answer or event.
Result<std::unique_ptr<Origin>> open_redis_origin(boost::asio::io_context& loop,
                                                  RedisOptions options);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ORIGIN_H_
