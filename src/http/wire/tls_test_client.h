// For tests: certificates, and a TLS client.
#ifndef SLUICE_HTTP_WIRE_TLS_TEST_CLIENT_H_
#define SLUICE_HTTP_WIRE_TLS_TEST_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "http/wire/test_server.h"
#include "http/wire/tls.h"

namespace sluice::http {

enum class KeyType { kEc, kRsa };

// Writes a self-signed certificate for `name` and its key into the test's temporary folder.
TlsFiles make_certificate(const std::string& name, KeyType type = KeyType::kEc);
std::shared_ptr<TlsSlot> make_slot(const std::string& name);

// A blocking TLS client that trusts any certificate.
class TlsClient {
  public:
    struct Offer {
        int version = TLS1_3_VERSION;
        std::string protocols{};  // in ALPN's coding
        std::string ciphers{};    // of TLS 1.2
        SSL_SESSION* session = nullptr;
        TlsFiles own{};  // the client certificate, if any
    };

    explicit TlsClient(std::uint16_t port) : TlsClient(port, Offer{}) {}
    TlsClient(std::uint16_t port, const Offer& offer);
    ~TlsClient();
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    bool is_connected() const { return is_connected_; }
    SSL* native() { return ssl_; }
    // The socket below TLS.
    TestClient& transport() { return client_; }

    void send(const std::string& bytes);
    // Reads until `end`, or the end of the connection.
    std::string read_until(std::string_view end);
    std::string certificate_name() const;

  private:
    TestClient client_;
    SSL_CTX* context_;
    SSL* ssl_;
    bool is_connected_ = false;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TLS_TEST_CLIENT_H_
