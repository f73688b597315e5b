// TLS as a client of Redis speaks it: a certificate that does not fit ends the connection.
#ifndef SLUICE_REGIONAL_REDIS_REDIS_TLS_H_
#define SLUICE_REGIONAL_REDIS_REDIS_TLS_H_

#include <sluice/result.h>

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

using SSL = struct ssl_st;

namespace sluice {

// Paths of PEM files.
struct RedisTlsFiles {
    std::string ca = {};    // what to trust; empty: what the system trusts
    std::string cert = {};  // this client's own; empty: none is shown
    std::string key = {};   // of cert
};

// The error names the file that can't be used.
Result<std::shared_ptr<boost::asio::ssl::context>> redis_tls_context(const RedisTlsFiles& files);

// After a handshake that failed: why, as far as OpenSSL tells.
std::string describe_tls_failure(SSL* connection, boost::system::error_code failed);

}  // namespace sluice

#endif  // SLUICE_REGIONAL_REDIS_REDIS_TLS_H_
