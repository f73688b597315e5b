// The URL of a Redis: its servers, how to log in, and the database.
#ifndef SLUICE_URL_REDIS_URL_H_
#define SLUICE_URL_REDIS_URL_H_

#include <sluice/result.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The address of one server.
struct RedisAddress {
    std::string host;  // an IPv6 address without its brackets
    std::uint16_t port = 0;
    std::string socket_path = {};  // of a unix socket, instead of host and port; empty: none

    std::string shown() const;
    friend auto operator<=>(const RedisAddress&, const RedisAddress&) = default;
};

struct RedisUrl {
    bool tls = false;
    // One server; or several of one Cluster, any of which will do; or the Sentinels.
    std::vector<RedisAddress> servers;
    std::string sentinel_master;  // the name that Sentinels know the master by; empty: no Sentinels
    std::string user;
    std::string password;
    int database = 0;

    // For messages and logs: without user and password.
    std::string shown() const;
};

// Parses one of
//
//     redis://[[user]:password@]host[:port][,host[:port]...][/database]
//     redis+sentinel://[[user]:password@]host[:port][,host[:port]...]/master[/database]
//     redis+socket://[[user]:password@]/path[?db=database]
//
// and the first two with TLS as rediss:// and rediss+sentinel://. User, password, master and path
// may hold any byte as %XX. The error says what is wrong and what is allowed, and repeats nothing
// of `text`: it may hold a password.
Result<RedisUrl> parse_redis_url(std::string_view text);

// Whether `text` begins like one of these URLs.
bool is_redis_url(std::string_view text);

}  // namespace sluice

#endif  // SLUICE_URL_REDIS_URL_H_
