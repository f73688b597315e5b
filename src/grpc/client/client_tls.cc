#include "grpc/client/client_tls.h"

#include <array>
#include <utility>

#include <openssl/ssl.h>

#include "base/tls_files.h"

namespace sluice::grpc {

namespace {

Error unusable(const char* what, const std::string& path, const std::string& why) {
    return {kInvalidOption, std::string("the ") + what + " " + path + " can't be used: " + why};
}

}  // namespace

Result<ClientTlsContext> load_client_tls(const ClientTlsFiles& files) {
    ClientTlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (context == nullptr) return Error{kOutOfMemory, "the system refused memory for TLS"};
    SSL_CTX* const tls = context.get();
    constexpr std::array<unsigned char, 3> kHttp2{2, 'h', '2'};
    SSL_CTX_set_alpn_protos(tls, kHttp2.data(), kHttp2.size());
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, nullptr);
    if (files.ca.empty()) {
        SSL_CTX_set_default_verify_paths(tls);
    } else {
        if (const auto why = internal::unreadable(files.ca))
            return unusable("CA certificate", files.ca, *why);
        if (SSL_CTX_load_verify_file(tls, files.ca.c_str()) != 1)
            return unusable("CA certificate", files.ca, "it holds no certificate in PEM");
    }
    if (files.cert.empty()) return context;
    if (const auto why = use_certificate_chain(tls, files.cert))
        return unusable("client certificate", files.cert, *why);
    if (const auto why = use_private_key(tls, files.key))
        return unusable("key of the client certificate", files.key, *why);
    return context;
}

}  // namespace sluice::grpc
