#include "cli/client_tls.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace sluice::cli {
namespace {

bool is_ip_address(const std::string& host) {
    in6_addr address{};
    return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

boost::asio::ssl::context client_tls_context(const Target& target) {
    namespace ssl = boost::asio::ssl;
    ssl::context context(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    if (!target.url.tls) return context;
    if (target.ca_cert.empty()) {
        context.set_default_verify_paths();
    } else {
        context.load_verify_file(target.ca_cert);
    }
    context.set_verify_mode(target.insecure ? ssl::verify_none : ssl::verify_peer);
    return context;
}

void prepare_tls(SSL* connection, const Target& target) {
    const std::string& host = target.url.host;
    if (is_ip_address(host)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host.c_str());
        return;
    }
    SSL_set1_host(connection, host.c_str());
    SSL_ctrl(connection,
             SSL_CTRL_SET_TLSEXT_HOSTNAME,
             TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
}

}  // namespace sluice::cli
