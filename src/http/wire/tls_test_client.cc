#include "http/wire/tls_test_client.h"

#include <cstdio>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/check.h"

namespace sluice::http {

TlsFiles make_certificate(const std::string& name, KeyType type) {
    const TlsFiles files{.certificate = testing::TempDir() + name + ".cert.pem",
                         .key = testing::TempDir() + name + ".key.pem"};
    EVP_PKEY* key = type == KeyType::kEc ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                         : EVP_RSA_gen(2048);
    X509* certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
    X509_NAME_add_entry_by_txt(
        X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text, -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    SLUICE_CHECK(X509_sign(certificate, key, EVP_sha256()) != 0);
    std::FILE* file = std::fopen(files.certificate.c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    file = std::fopen(files.key.c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
}

std::shared_ptr<TlsSlot> make_slot(const std::string& name) {
    const auto context = TlsContext::load(make_certificate(name));
    SLUICE_CHECK(context.has_value());
    return std::make_shared<TlsSlot>(*context);
}

TlsClient::TlsClient(std::uint16_t port, const Offer& offer)
    : client_(port), context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
    SSL_CTX_set_min_proto_version(context_, offer.version);
    SSL_CTX_set_max_proto_version(context_, offer.version);
    SSL_CTX_set_security_level(context_, 0);
    if (!offer.ciphers.empty()) SSL_CTX_set_cipher_list(context_, offer.ciphers.c_str());
    if (!offer.own.key.empty()) {
        SSL_CTX_use_certificate_chain_file(context_, offer.own.certificate.c_str());
        SSL_CTX_use_PrivateKey_file(context_, offer.own.key.c_str(), SSL_FILETYPE_PEM);
    }
    ssl_ = SSL_new(context_);
    if (offer.session != nullptr) SSL_set_session(ssl_, offer.session);
    SSL_set_fd(ssl_, client_.socket());
    if (!offer.protocols.empty()) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(offer.protocols.data());
        SSL_set_alpn_protos(ssl_, bytes, static_cast<unsigned>(offer.protocols.size()));
    }
    is_connected_ = SSL_connect(ssl_) == 1;
}

TlsClient::~TlsClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
}

void TlsClient::send(const std::string& bytes) {
    SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsClient::read_until(std::string_view end) {
    std::string all;
    std::vector<char> bytes(65536);
    while (all.find(end) == std::string::npos) {
        const int got = SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size()));
        if (got <= 0) break;
        all.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return all;
}

std::string TlsClient::certificate_name() const {
    X509* certificate = SSL_get1_peer_certificate(ssl_);
    std::string name(100, '\0');
    const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
                                               NID_commonName,
                                               name.data(),
                                               static_cast<int>(name.size()));
    X509_free(certificate);
    name.resize(static_cast<std::size_t>(size));
    return name;
}

}  // namespace sluice::http
