#include "regional/redis/redis_url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <sys/un.h>

#include "base/url_parts.h"

namespace sluice {
namespace {

constexpr std::uint16_t kServerPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;

constexpr std::string_view kSocket = "redis+socket://";

// The schemes of URLs that name hosts.
struct Scheme {
    std::string_view prefix;
    bool has_tls;
    bool has_sentinels;
};
constexpr std::array kSchemes = {
    Scheme{.prefix = "redis://", .has_tls = false, .has_sentinels = false},
    Scheme{.prefix = "rediss://", .has_tls = true, .has_sentinels = false},
    Scheme{.prefix = "redis+sentinel://", .has_tls = false, .has_sentinels = true},
    Scheme{.prefix = "rediss+sentinel://", .has_tls = true, .has_sentinels = true},
};

// The error in a URL; none if it is valid.
using Fault = std::optional<std::string_view>;

Error invalid(std::string_view what) {
    return {kInvalidOption,
            "the Redis URL " + std::string(what) +
                "; allowed are redis://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/DATABASE], "
                "redis+sentinel://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/MASTER"
                "[/DATABASE], the same with rediss:// and rediss+sentinel:// for TLS, and "
                "redis+socket://[[USER]:PASSWORD@]/PATH[?db=DATABASE]"};
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

// Takes what stands before the first `separator` off the front of `rest`, with the separator.
std::string_view take_until(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return taken;
}

// Takes "user:password@" off the front of `rest`, if it is there.
Fault take_login(std::string_view& rest, RedisUrl& url) {
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

// Parses "host[:port]".
Fault add_server(std::string_view text, RedisUrl& url) {
    RedisAddress address{.host = {},
                         .port = url.sentinel_master.empty() ? kServerPort : kSentinelPort};
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return "has no ] behind its IPv6 address";
        address.host = text.substr(1, end - 1);
        if (!is_ipv6(address.host)) return "has no IPv6 address between its brackets";
        text.remove_prefix(end + 1);
    } else {
        address.host = text.substr(0, std::min(text.find(':'), text.size()));
        if (!is_host_name(address.host)) return "has no valid host name";
        text.remove_prefix(address.host.size());
    }
    if (!text.empty()) {
        const auto port = number_in<std::uint16_t>(text.substr(1));
        if (!text.starts_with(':') || !port || *port == 0)
            return "has a port that is no number from 1 to 65535";
        address.port = *port;
    }
    url.servers.push_back(std::move(address));
    return std::nullopt;
}

Fault take_servers(std::string_view hosts, RedisUrl& url) {
    do {
        if (const auto fault = add_server(take_until(hosts, ','), url)) return fault;
    } while (!hosts.empty());
    return std::nullopt;
}

Result<RedisUrl> parse_host_url(std::string_view rest, const Scheme& scheme) {
    RedisUrl url;
    url.tls = scheme.has_tls;
    if (const auto fault = take_login(rest, url)) return invalid(*fault);
    const std::string_view hosts = take_until(rest, '/');
    if (scheme.has_sentinels) {
        const auto master = percent_decoded(take_until(rest, '/'));
        if (!master || master->empty()) return invalid("names no master behind its Sentinels");
        url.sentinel_master = *master;
    }
    if (hosts.ends_with(',')) return invalid("has no valid host name");
    if (const auto fault = take_servers(hosts, url)) return invalid(*fault);
    if (rest.empty()) return url;
    const auto database = database_in(rest);
    if (!database) return invalid("has a database that is no number from 0 on");
    url.database = *database;
    return url;
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
    url.servers.push_back({.host = {}, .port = 0, .socket_path = *path});
    const std::string_view query = rest.substr(question);
    if (query.empty()) return url;
    const auto database =
        query.starts_with("?db=") ? database_in(query.substr(4)) : std::optional<int>{};
    if (!database) return invalid("has something other than ?db=DATABASE behind its path");
    url.database = *database;
    return url;
}

}  // namespace

std::string RedisAddress::shown() const {
    if (!socket_path.empty()) return socket_path;
    const bool is_six = host.find(':') != std::string::npos;
    return (is_six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string RedisUrl::shown() const {
    const std::string number = std::to_string(database);
    if (servers.size() == 1 && !servers[0].socket_path.empty())
        return std::string(kSocket) + servers[0].shown() + (database == 0 ? "" : "?db=" + number);
    std::string text = tls ? "rediss" : "redis";
    text += sentinel_master.empty() ? "://" : "+sentinel://";
    for (const RedisAddress& server : servers)
        text += (text.ends_with('/') ? "" : ",") + server.shown();
    if (!sentinel_master.empty()) text += "/" + sentinel_master;
    return text + (database == 0 ? "" : "/" + number);
}

Result<RedisUrl> parse_redis_url(std::string_view text) {
    if (text.starts_with(kSocket)) return parse_socket_url(text.substr(kSocket.size()));
    for (const Scheme& scheme : kSchemes)
        if (text.starts_with(scheme.prefix))
            return parse_host_url(text.substr(scheme.prefix.size()), scheme);
    return invalid("begins with no known scheme");
}

bool is_redis_url(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return false;
    const std::string_view scheme = text.substr(0, colon);
    return scheme == "redis" || scheme == "rediss" || scheme.starts_with("redis+") ||
           scheme.starts_with("rediss+");
}

}  // namespace sluice
