// Redis Sentinel: processes that know which server is the master.
#ifndef SLUICE_REGIONAL_REDIS_SENTINEL_H_
#define SLUICE_REGIONAL_REDIS_SENTINEL_H_

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "regional/redis/redis_access.h"
#include "regional/redis/redis_link.h"
#include "url/redis_url.h"

namespace sluice {

struct SentinelMaster {
    std::vector<RedisAddress> sentinels;
    std::string name;
};

// Locates the master by asking the Sentinels one after the other, beginning with the one that
// answered last. They are logged in to like the master, but need not want that.
Locate locate_by_sentinels(boost::asio::io_context& loop,
                           std::shared_ptr<const RedisAccess> access,
                           SentinelMaster master);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_SENTINEL_H_
