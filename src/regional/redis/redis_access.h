// What it takes to talk to any server of one Redis.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ACCESS_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ACCESS_H_

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

namespace sluice {

// Where one server is.
struct RedisAddress {
    std::string host;
    std::uint16_t port = 0;
    std::string socket_path;  // instead of host and port

    std::string shown() const {
        return socket_path.empty() ? host + ":" + std::to_string(port) : socket_path;
    }
    friend auto operator<=>(const RedisAddress&, const RedisAddress&) = default;
};

// The same for all servers of a cluster. Never changes once it is made.
struct RedisAccess {
    std::shared_ptr<boost::asio::ssl::context> tls;  // none: plain connections
    std::string user;
    std::string password;
    int database = 0;
    std::chrono::milliseconds timeout;  // of a call
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ACCESS_H_
