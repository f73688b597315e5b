#include "regional/redis/redis_url.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <sys/un.h>

#include "base/url_parts.h"

namespace sluice {
namespace {

constexpr std::string_view kPlain = "redis://";
constexpr std::string_view kTls = "rediss://";
constexpr std::string_view kSocket = "redis+socket://";

Error invalid(std::string_view what) {
    return {kInvalidOption,
            "the Redis URL " + std::string(what) +
                "; allowed are redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE], the same with "
                "rediss:// for TLS, and redis+socket://[[USER]:PASSWORD@]/PATH[?db=DATABASE]"};
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<int> database_in(std::string_view text) {
    const auto number = number_in<int>(text);
    return number && *number >= 0 ? number : std::nullopt;
}

// Takes "user:password@" off the front of `rest`, where it stands there. The error says what is
// wrong with it.
std::optional<std::string_view> take_login(std::string_view& rest, RedisUrl& url) {
    const std::string_view authority = rest.substr(0, std::min(rest.find('/'), rest.size()));
    const std::size_t at = authority.rfind('@');
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view login = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    const std::size_t colon = login.find(':');
    if (colon == std::string_view::npos) return "has a user without a password";
    const auto user = percent_decoded(login.substr(0, colon));
    const auto password = percent_decoded(login.substr(colon + 1));
    if (!user || !password) return "has a % without two hexadecimal digits before its @";
    url.user = *user;
    url.password = *password;
    return std::nullopt;
}

std::optional<std::string_view> take_address(std::string_view& rest, RedisUrl& url) {
    std::string_view authority = rest.substr(0, std::min(rest.find('/'), rest.size()));
    rest.remove_prefix(authority.size());
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        if (end == std::string_view::npos) return "has no ] behind its IPv6 address";
        url.host = authority.substr(1, end - 1);
        if (!is_ipv6(url.host)) return "has no IPv6 address between its brackets";
        authority.remove_prefix(end + 1);
    } else {
        url.host = authority.substr(0, std::min(authority.find(':'), authority.size()));
        if (!is_host_name(url.host)) return "has no valid host name";
        authority.remove_prefix(url.host.size());
    }
    if (authority.empty()) return std::nullopt;
    const auto port = number_in<std::uint16_t>(authority.substr(1));
    if (!authority.starts_with(':') || !port || *port == 0)
        return "has a port that is no number from 1 to 65535";
    url.port = *port;
    return std::nullopt;
}

Result<RedisUrl> parse_socket_url(std::string_view rest) {
    RedisUrl url;
    if (const auto fault = take_login(rest, url)) return invalid(*fault);
    const std::size_t question = std::min(rest.find('?'), rest.size());
    const auto path = percent_decoded(rest.substr(0, question));
    if (!path || !path->starts_with('/') || path->find('\0') != std::string::npos)
        return invalid("has no valid path, which begins with /");
    if (path->size() >= sizeof(sockaddr_un::sun_path))
        return invalid("has a path that is too long for a unix socket");
    url.socket_path = *path;
    const std::string_view query = rest.substr(question);
    if (query.empty()) return url;
    const auto database =
        query.starts_with("?db=") ? database_in(query.substr(4)) : std::optional<int>{};
    if (!database) return invalid("has something other than ?db=DATABASE behind its path");
    url.database = *database;
    return url;
}

}  // namespace

std::string RedisUrl::shown() const {
    const std::string number = std::to_string(database);
    if (!socket_path.empty())
        return std::string(kSocket) + socket_path + (database == 0 ? "" : "?db=" + number);
    const bool is_six = host.find(':') != std::string::npos;
    return std::string(tls ? kTls : kPlain) + (is_six ? "[" + host + "]" : host) + ":" +
           std::to_string(port) + (database == 0 ? "" : "/" + number);
}

Result<RedisUrl> parse_redis_url(std::string_view text) {
    if (text.starts_with(kSocket)) return parse_socket_url(text.substr(kSocket.size()));
    RedisUrl url;
    url.tls = text.starts_with(kTls);
    if (!url.tls && !text.starts_with(kPlain))
        return invalid("does not begin with redis://, rediss:// or redis+socket://");
    std::string_view rest = text.substr(url.tls ? kTls.size() : kPlain.size());
    if (const auto fault = take_login(rest, url)) return invalid(*fault);
    if (const auto fault = take_address(rest, url)) return invalid(*fault);
    if (rest.size() <= 1) return url;
    const auto database = database_in(rest.substr(1));
    if (!database) return invalid("has a database that is no number from 0 on");
    url.database = *database;
    return url;
}

}  // namespace sluice
