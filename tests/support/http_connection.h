// An HTTP client that sends exactly the bytes that it is given, with or without TLS.
#ifndef SLUICE_TESTS_SUPPORT_HTTP_CONNECTION_H_
#define SLUICE_TESTS_SUPPORT_HTTP_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "support/http_answer.h"
#include "support/process.h"

struct ssl_st;

namespace sluice::server_test {

// Requirements of a TLS connection.
struct TlsDemand {
    std::string trusted;           // path of the certificate that the server must prove to have
    int version = 0;               // the only one accepted, such as TLS1_2_VERSION; 0: any
    std::string alpn = {};         // a protocol to offer
    std::string ciphers = {};      // of TLS 1.2, as OpenSSL names them; empty offers the usual
    std::string certificate = {};  // paths of a certificate of its own and its key
    std::string key = {};
};

// A connection to the server on this machine. Owned by one thread. Throws on errors.
class Connection {
  public:
    explicit Connection(std::uint16_t port);
    Connection(std::uint16_t port, const TlsDemand& demand);
    // With the smallest receive buffer that the system allows.
    static Connection with_small_window(std::uint16_t port);
    ~Connection();
    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) = delete;

    void send(std::string_view bytes);

    // Sends without blocking. Returns whether the connection is still open.
    bool try_send(std::string_view bytes);

    // Waits until the server has read all that was sent. Returns false after kTimeout.
    bool await_read() const;

    // Shuts down the sending side.
    void finish_sending() const;

    // The next response. Throws if the connection ends before it.
    Answer receive(std::chrono::milliseconds timeout = kTimeout);

    // What has arrived, at least one byte. Throws at the end of the connection.
    std::string receive_some(std::chrono::milliseconds timeout = kTimeout);

    // All bytes until the server closes the connection.
    std::string receive_rest(std::chrono::milliseconds timeout = kTimeout);

    // True if nothing arrives, not even an end, for this long.
    bool stays_silent(std::chrono::milliseconds time);

    Answer ask(std::string_view request) {
        send(request);
        return receive();
    }

    // Of a TLS connection: the version ("TLSv1.3"), the negotiated protocol, and the subject of
    // the certificate.
    std::string tls_version() const;
    std::string alpn() const;
    std::string subject() const;

  private:
    struct Socket {
        int descriptor;
    };
    explicit Connection(Socket socket);

    bool wait_readable(std::chrono::milliseconds timeout) const;
    bool read_more(std::chrono::milliseconds timeout);  // false at the end

    int socket_ = -1;
    std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;
    std::string received_;
};

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SUPPORT_HTTP_CONNECTION_H_
