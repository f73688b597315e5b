#include "service/open_origin.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "regional/memory_origin.h"
#include "regional/redis/redis_origin.h"
#include "regional/sqlite/sqlite_origin.h"
#include "url/redis_url.h"
#include "url/store_url.h"

namespace sluice {
namespace {

// New at each start: components of an earlier process have another owner (invariant 10).
std::string new_node() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string name;
    std::uint64_t random = system_random();
    for (int i = 0; i < 16; ++i, random >>= 4U)
        name += kDigits[random & 0xFU];
    return name;
}

Result<std::unique_ptr<Origin>> open_sqlite(const Options& options, boost::asio::io_context& loop) {
    return open_sqlite_origin(loop,
                              {.path = options.origin.substr(kSqliteScheme.size()),
                               .region = options.region,
                               .node = new_node(),
                               .timeout = options.origin_timeout,
                               .on_thread_failure = options.on_thread_failure});
}

Result<std::unique_ptr<Origin>> open_redis(const Options& options, boost::asio::io_context& loop) {
    auto url = parse_redis_url(options.origin);
    if (!url) return std::move(url).error();
    const OriginTls& tls = options.origin_tls;
    return open_redis_origin(loop,
                             {.url = *std::move(url),
                              .tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key},
                              .region = options.region,
                              .node = new_node(),
                              .timeout = options.origin_timeout});
}

}  // namespace

Result<std::unique_ptr<Origin>> open_origin(const Options& options, boost::asio::io_context& loop) {
    if (auto error = invalid_origin(options.origin)) return *std::move(error);
    if (options.origin.starts_with(kSqliteScheme)) return open_sqlite(options, loop);
    if (is_redis_url(options.origin)) return open_redis(options, loop);
    const std::string name = options.region + ":" + options.origin.substr(kMemoryScheme.size());
    return MemoryRegion::named(name)->join();
}

}  // namespace sluice
