// Where a Redis is, and how to log in there, as a person writes it.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_URL_H_
#define SLUICE_REGIONAL_REDIS_REDIS_URL_H_

#include <sluice/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

struct RedisUrl {
    bool tls = false;
    std::string host;  // an IPv6 address stands here without its brackets
    std::uint16_t port = 6379;
    std::string socket_path;  // of a unix socket, instead of host and port; empty: none
    std::string user;
    std::string password;
    int database = 0;

    // For people and logs: without user and password.
    std::string shown() const;
};

// Reads one of
//
//     redis://[[user]:password@]host[:port][/database]
//     rediss://...                                        the same with TLS
//     redis+socket://[[user]:password@]/path[?db=database]
//
// User, password and path may hold any byte as %XX. The error says what is wrong and what is
// allowed, and repeats nothing of `text`: it may hold a password.
Result<RedisUrl> parse_redis_url(std::string_view text);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_URL_H_
