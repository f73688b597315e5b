#include "cli/client_tls.h"

#include <openssl/ssl.h>

namespace sluice::cli {

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

}  // namespace sluice::cli
