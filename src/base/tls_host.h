// Verification of the host name in a TLS server's certificate.
#ifndef SLUICE_BASE_TLS_HOST_H_
#define SLUICE_BASE_TLS_HOST_H_

#include <string>

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace sluice {

// Requires the server's certificate to name `host`, an address or a host name. A host name is also
// sent as SNI. Call it before the handshake.
inline void expect_host(SSL* connection, const std::string& host) {
    in6_addr address{};
    const bool is_address = inet_pton(AF_INET, host.c_str(), &address) == 1 ||
                            inet_pton(AF_INET6, host.c_str(), &address) == 1;
    if (is_address) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host.c_str());
        return;
    }
    SSL_set1_host(connection, host.c_str());
    SSL_ctrl(connection,
             SSL_CTRL_SET_TLSEXT_HOSTNAME,
             TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
}

}  // namespace sluice

#endif  // SLUICE_BASE_TLS_HOST_H_
