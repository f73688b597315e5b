#include "service/open_origin.h"

#include <string_view>
#include <utility>

#include "base/random.h"
#include "regional/memory_origin.h"
#include "regional/redis/redis_origin.h"
#include "regional/redis/redis_url.h"
#include "regional/sqlite/sqlite_origin.h"

namespace sluice {
namespace {

constexpr std::string_view kMemory = "memory:";
constexpr std::string_view kSqlite = "sqlite:";

// New at each start: components of an earlier process have another owner.
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
                              {.path = options.origin.substr(kSqlite.size()),
                               .region = options.region,
                               .node = new_node(),
                               .timeout = options.origin_timeout});
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

std::optional<Error> invalid_origin(const std::string& url) {
    for (const std::string_view scheme : {kMemory, kSqlite}) {
        if (!url.starts_with(scheme)) continue;
        if (url.size() > scheme.size()) return std::nullopt;
        return Error{kInvalidOption,
                     "origin is \"" + url + "\", which lacks a " +
                         (scheme == kMemory ? "name" : "path") + " after the colon"};
    }
    if (is_redis_url(url)) {
        auto parsed = parse_redis_url(url);
        if (!parsed) return std::move(parsed).error();
        return std::nullopt;
    }
    // The URL is not shown: it may hold a password.
    return Error{kInvalidOption,
                 "origin is of no known kind; allowed: redis://, rediss://, redis+sentinel://, "
                 "rediss+sentinel://, redis+socket://, sqlite:PATH and memory:NAME"};
}

std::string shown_origin(const std::string& url) {
    if (!is_redis_url(url)) return url;
    const auto parsed = parse_redis_url(url);
    return parsed ? parsed->shown() : std::string();
}

Result<std::unique_ptr<Origin>> open_origin(const Options& options, boost::asio::io_context& loop) {
    if (auto error = invalid_origin(options.origin)) return *std::move(error);
    if (options.origin.starts_with(kSqlite)) return open_sqlite(options, loop);
    if (is_redis_url(options.origin)) return open_redis(options, loop);
    const std::string name = options.region + ":" + options.origin.substr(kMemory.size());
    return MemoryRegion::named(name)->join();
}

}  // namespace sluice
