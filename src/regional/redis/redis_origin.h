// An origin in Redis: a single server, a Redis Cluster, or a master behind Sentinels. Whether a
// server is a member of a Cluster is detected. Requires the protocol of Redis 6.2, as Valkey and
// Dragonfly have it.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ORIGIN_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ORIGIN_H_

#include <sluice/result.h>

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "regional/origin.h"
#include "regional/redis/redis_stream.h"
#include "url/redis_url.h"

namespace sluice {

struct RedisOptions {
    RedisUrl url = {};
    RedisTlsFiles tls = {};   // used if the URL asks for TLS
    std::string region = {};  // regions may share a Redis and don't see each other
    std::string node = {};    // the name of this process, new at each start
    std::chrono::milliseconds timeout{300};
};

// Fails only for invalid options; errors of the server are reported by the origin's events.
//
// The origin runs on the thread of `loop`, which must outlive it, and never blocks. Host names are
// resolved on Asio's resolver thread. It may be destroyed during an answer or event.
Result<std::unique_ptr<Origin>> open_redis_origin(boost::asio::io_context& loop,
                                                  RedisOptions options);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ORIGIN_H_
