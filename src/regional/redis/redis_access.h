// What it takes to connect to any server of one Redis: TLS, login, database and timeout.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_ACCESS_H_
#define SLUICE_REGIONAL_REDIS_REDIS_ACCESS_H_

#include <sluice/result.h>

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

using SSL = struct ssl_st;

namespace sluice {

// Paths of PEM files.
struct RedisTlsFiles {
    std::string ca = {};    // certificates to trust; empty: those that the system trusts
    std::string cert = {};  // the client certificate; empty: none
    std::string key = {};   // the key of `cert`
};

// The error names the file that can't be used.
Result<std::shared_ptr<boost::asio::ssl::context>> redis_tls_context(const RedisTlsFiles& files);

// Describes why a TLS handshake failed.
std::string describe_tls_failure(SSL* connection, boost::system::error_code failed);

// The same for all servers of a Cluster and for the Sentinels of a master. Immutable once made.
struct RedisAccess {
    std::shared_ptr<boost::asio::ssl::context> tls;  // null: plain connections
    std::string user;
    std::string password;
    int database = 0;
    std::chrono::milliseconds timeout;  // of a call
};

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_ACCESS_H_
