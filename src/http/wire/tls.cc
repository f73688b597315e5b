#include "http/wire/tls.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/ssl.h>

#include "base/check.h"
#include "base/tls_files.h"
#include "http/wire/ticket_keys.h"

namespace sluice::http {

namespace {

Error unusable(std::string_view setting, const std::string& file, const std::string& why) {
    return {kInvalidOption, std::string(setting) + " is \"" + file + "\": " + why};
}

int select_protocol(SSL* /*ssl*/,
                    const unsigned char** chosen,
                    unsigned char* chosen_size,
                    const unsigned char* offered,
                    unsigned int offered_size,
                    void* /*unused*/) {
    static constexpr std::array<unsigned char, 9> kHttp11{
        8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    unsigned char* match = nullptr;
    const int outcome = SSL_select_next_proto(
        &match, chosen_size, kHttp11.data(), kHttp11.size(), offered, offered_size);
    *chosen = match;
    // A client that speaks HTTP/2 alone learns it here instead of from a reply that it can't read.
    return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Of TLS 1.2; all suites of TLS 1.3 are of this kind. No CBC, no static RSA.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

void set_behaviour(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SLUICE_CHECK(SSL_CTX_set_cipher_list(context, kCiphers) == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    // Buffers exist only while a record is underway, so that idle connections stay small.
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                         SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    // Sessions are resumed by tickets; the cache would be a lock that all threads share.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
}

// Returns what is wrong with the file, if anything is.
std::optional<std::string> require_client_certificates(SSL_CTX* context,
                                                       const std::string& authorities) {
    if (auto why = internal::unreadable(authorities)) return why;
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(authorities.c_str());
    const bool is_loaded =
        names != nullptr && SSL_CTX_load_verify_file(context, authorities.c_str()) == 1;
    if (!is_loaded) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        const unsigned long code = ERR_get_error();
        ERR_clear_error();
        return "it holds no certificate in PEM (" + internal::openssl_reason(code) + ")";
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // Without it, OpenSSL refuses to resume sessions of clients that have shown a certificate.
    static constexpr std::array<unsigned char, 6> kContext{'s', 'l', 'u', 'i', 'c', 'e'};
    SLUICE_CHECK(SSL_CTX_set_session_id_context(context, kContext.data(), kContext.size()) == 1);
    return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::load(
    const TlsFiles& files, std::function<std::chrono::steady_clock::time_point()> clock) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    if (context == nullptr) return Error{kOutOfMemory, "there is no memory left for TLS"};
    std::shared_ptr<const TlsContext> owner(new TlsContext(context));
    set_behaviour(context);
    TicketKeys::install(context, std::move(clock));
    if (const auto why = use_certificate_chain(context, files.certificate))
        return unusable("tls.cert", files.certificate, *why);
    if (const auto why = use_private_key(context, files.key))
        return unusable("tls.key", files.key, *why);
    if (!files.client_ca.empty()) {
        if (const auto why = require_client_certificates(context, files.client_ca))
            return unusable("tls.client_ca", files.client_ca, *why);
    }
    return owner;
}

void TlsContext::expire_ticket_keys() const {
    TicketKeys::of(context_).expire();
}

TlsContext::~TlsContext() {
    SSL_CTX_free(context_);
}

void TlsSlot::replace(std::shared_ptr<const TlsContext> context) {
    const MutexLock lock(mutex_);
    context_.swap(context);
}

std::shared_ptr<const TlsContext> TlsSlot::current() const {
    const MutexLock lock(mutex_);
    return context_;
}

}  // namespace sluice::http
