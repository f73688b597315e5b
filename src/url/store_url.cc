#include "url/store_url.h"

#include <utility>

#include "url/mysql_url.h"
#include "url/nats_url.h"
#include "url/redis_url.h"

namespace sluice {
namespace {

bool is_local(const std::string& url) {
    return url.starts_with(kMemoryScheme) || url.starts_with(kSqliteScheme);
}

// Checks a URL of a file or of memory. `setting` is its name in messages.
std::optional<Error> invalid_local(const char* setting, const std::string& url) {
    if (!url.ends_with(':') || url.find(':') != url.size() - 1) return std::nullopt;
    return Error{kInvalidOption,
                 std::string(setting) + " is \"" + url + "\", which lacks a " +
                     (url.starts_with(kMemoryScheme) ? "name" : "path") + " after the colon"};
}

template <class Url>
std::optional<Error> error_of(Result<Url> parsed) {
    if (parsed) return std::nullopt;
    return std::move(parsed).error();
}

}  // namespace

bool is_mysql_url(std::string_view url) {
    return url.starts_with("mysql:");
}

std::optional<Error> invalid_origin(const std::string& url) {
    if (is_local(url)) return invalid_local("origin", url);
    if (is_redis_url(url)) return error_of(parse_redis_url(url));
    // The value is not shown: it may hold a password.
    return Error{kInvalidOption,
                 "origin is of no known kind; allowed: redis://, rediss://, redis+sentinel://, "
                 "rediss+sentinel://, redis+socket://, sqlite:PATH and memory:NAME"};
}

std::optional<Error> invalid_global(const std::string& url) {
    if (is_local(url)) return invalid_local("global", url);
    if (is_mysql_url(url)) return error_of(parse_mysql_url(url));
    // The value is not shown: it may hold a password.
    return Error{kInvalidOption,
                 "global is of no known kind; allowed: mysql://, sqlite:PATH and memory:NAME"};
}

std::optional<Error> invalid_bus(const std::string& url) {
    if (url.starts_with(kMemoryScheme)) return invalid_local("bus", url);
    if (is_nats_url(url)) return error_of(parse_nats_url(url));
    // The value is not shown: it may hold a password.
    return Error{kInvalidOption,
                 "bus is of no known kind; allowed: nats://, tls:// and memory:NAME"};
}

std::string shown_origin(const std::string& url) {
    if (!is_redis_url(url)) return url;
    const auto parsed = parse_redis_url(url);
    return parsed ? parsed->shown() : std::string();
}

std::string shown_global(const std::string& url) {
    if (!is_mysql_url(url)) return invalid_global(url) ? std::string() : url;
    const auto parsed = parse_mysql_url(url);
    return parsed ? parsed->shown() : std::string();
}

std::string shown_bus(const std::string& url) {
    if (!is_nats_url(url)) return invalid_bus(url) ? std::string() : url;
    const auto parsed = parse_nats_url(url);
    return parsed ? parsed->shown() : std::string();
}

}  // namespace sluice
