#include "regional/redis/redis_tls.h"

#include <string_view>

#include <openssl/ssl.h>

namespace sluice {
namespace {

using boost::system::error_code;
namespace ssl = boost::asio::ssl;

Error unusable(std::string_view what, const std::string& path, error_code failed) {
    return {kInvalidOption,
            "the " + std::string(what) + " for Redis, " + path +
                ", can't be used: " + failed.message() + "; it must be a readable PEM file"};
}

}  // namespace

Result<std::shared_ptr<ssl::context>> redis_tls_context(const RedisTlsFiles& files) {
    const auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    context->set_verify_mode(ssl::verify_peer);
    error_code failed;
    if (files.ca.empty()) {
        context->set_default_verify_paths(failed);
        if (failed) return unusable("system's list of certificates", "", failed);
    } else {
        context->load_verify_file(files.ca, failed);
        if (failed) return unusable("CA certificate", files.ca, failed);
    }
    if (files.cert.empty() != files.key.empty())
        return Error{kInvalidOption,
                     "of the client certificate for Redis and its key only one is given; allowed "
                     "are both or none"};
    if (files.cert.empty()) return context;
    context->use_certificate_chain_file(files.cert, failed);
    if (failed) return unusable("client certificate", files.cert, failed);
    context->use_private_key_file(files.key, ssl::context::pem, failed);
    if (failed) return unusable("key of the client certificate", files.key, failed);
    return context;
}

std::string describe_tls_failure(SSL* connection, error_code failed) {
    const long verdict = SSL_get_verify_result(connection);
    if (verdict != X509_V_OK)
        return std::string("its certificate is not accepted: ") +
               X509_verify_cert_error_string(verdict);
    return "TLS failed: " + failed.message();
}

}  // namespace sluice
