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

bool is_redis(const std::string& url) {
    return url.starts_with("redis:") || url.starts_with("rediss:") ||
           url.starts_with("redis+socket:");
}

// New at each start: what an earlier process told is another owner's.
std::string new_node() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string name;
    std::uint64_t random = system_random();
    for (int i = 0; i < 16; ++i, random >>= 4U)
        name += kDigits[random & 0xFU];
    return name;
}

Result<OpenedOrigin> open_sqlite(const Options& options) {
    auto origin = open_sqlite_origin({.path = options.origin.substr(kSqlite.size()),
                                      .region = options.region,
                                      .node = new_node()});
    if (!origin) return std::move(origin).error();
    return OpenedOrigin{*std::move(origin), Refresh::Region::kExclusive};
}

Result<OpenedOrigin> open_redis(const Options& options,
                                boost::asio::io_context& loop,
                                std::function<void(const std::string&)> refused) {
    auto url = parse_redis_url(options.origin);
    if (!url) return std::move(url).error();
    const OriginTls& tls = options.origin_tls;
    auto origin = open_redis_origin(loop,
                                    {.url = *std::move(url),
                                     .tls = {.ca = tls.ca, .cert = tls.cert, .key = tls.key},
                                     .region = options.region,
                                     .node = new_node(),
                                     .timeout = options.origin_timeout,
                                     .refused = std::move(refused)});
    if (!origin) return std::move(origin).error();
    return OpenedOrigin{*std::move(origin), Refresh::Region::kShared};
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
    if (is_redis(url)) {
        auto parsed = parse_redis_url(url);
        if (!parsed) return std::move(parsed).error();
        return std::nullopt;
    }
    // What it is instead is not shown: it may hold a password.
    return Error{kInvalidOption,
                 "origin is of no known kind; allowed: redis://, rediss://, redis+socket://, "
                 "sqlite:PATH and memory:NAME"};
}

std::string shown_origin(const std::string& url) {
    if (!is_redis(url)) return url;
    const auto parsed = parse_redis_url(url);
    return parsed ? parsed->shown() : std::string();
}

Result<OpenedOrigin> open_origin(const Options& options,
                                 boost::asio::io_context& loop,
                                 std::function<void(const std::string& why)> refused) {
    if (auto error = invalid_origin(options.origin)) return *std::move(error);
    if (options.origin.starts_with(kSqlite)) return open_sqlite(options);
    if (is_redis(options.origin)) return open_redis(options, loop, std::move(refused));
    const std::string name = options.region + ":" + options.origin.substr(kMemory.size());
    return OpenedOrigin{MemoryRegion::named(name)->join(), Refresh::Region::kShared};
}

}  // namespace sluice
