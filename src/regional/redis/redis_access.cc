#include "regional/redis/redis_access.h"

#include <string_view>

#include <openssl/ssl.h>

#include "base/tls_files.h"

namespace sluice {
namespace {

using boost::system::error_code;
namespace ssl = boost::asio::ssl;

Error unusable(std::string_view what, const std::string& path, const std::string& why) {
    return {kInvalidOption,
            "the " + std::string(what) + " for Redis, " + path + ", can't be used: " + why};
}

}  // namespace

Result<std::shared_ptr<ssl::context>> redis_tls_context(const RedisTlsFiles& files) {
    const auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    context->set_verify_mode(ssl::verify_peer);
    error_code failed;
    if (files.ca.empty()) {
        context->set_default_verify_paths(failed);
        if (failed) return unusable("system's list of certificates", "", failed.message());
    } else {
        context->load_verify_file(files.ca, failed);
        if (failed)
            return unusable(
                "CA certificate", files.ca, failed.message() + "; it must be a readable PEM file");
    }
    if (files.cert.empty() != files.key.empty())
        return Error{kInvalidOption,
                     "of the client certificate for Redis and its key only one is given; allowed "
                     "are both or none"};
    if (files.cert.empty()) return context;
    if (const auto why = use_certificate_chain(context->native_handle(), files.cert))
        return unusable("client certificate", files.cert, *why);
    if (const auto why = use_private_key(context->native_handle(), files.key))
        return unusable("key of the client certificate", files.key, *why);
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
