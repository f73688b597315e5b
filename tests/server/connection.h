// A client that sends exactly the bytes that it is given.
#ifndef SLUICE_TESTS_SERVER_CONNECTION_H_
#define SLUICE_TESTS_SERVER_CONNECTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/answer.h"
#include "server/program.h"

struct ssl_st;

namespace sluice::server_test {

// What a TLS connection insists on.
struct TlsDemand {
    std::string trusted;           // path of the certificate that the server must prove to have
    int version = 0;               // such as TLS1_2_VERSION, and no other; 0 takes any
    std::string alpn = {};         // a protocol to offer
    std::string ciphers = {};      // of TLS 1.2, as OpenSSL names them; empty offers the usual
    std::string certificate = {};  // paths of a certificate of its own and its key
    std::string key = {};
};

// A connection to the server on this machine. Owned by one thread. Whatever can't be done throws.
class Connection {
  public:
    explicit Connection(std::uint16_t port);
    Connection(std::uint16_t port, const TlsDemand& demand);
    // One that takes in as few bytes as the system allows before it is read from.
    static Connection with_small_window(std::uint16_t port);
    ~Connection();
    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) = delete;

    void send(std::string_view bytes);

    // Sends what the system takes without waiting, and tells whether the connection is still there.
    bool try_send(std::string_view bytes);

    // Tells the server that no more will be sent.
    void finish_sending() const;

    // The next response. Throws if the connection ends before it.
    Answer receive(std::chrono::milliseconds patience = kPatience);

    // Everything that still arrives, until the server closes the connection.
    std::string receive_rest(std::chrono::milliseconds patience = kPatience);

    // True if nothing arrives, not even an end, for this long.
    bool stays_silent(std::chrono::milliseconds time);

    Answer ask(std::string_view request) {
        send(request);
        return receive();
    }

    // Of a TLS connection: "TLSv1.3", the protocol that was agreed on, the subject of the
    // certificate.
    std::string tls_version() const;
    std::string alpn() const;
    std::string subject() const;

  private:
    struct Socket {
        int descriptor;
    };
    explicit Connection(Socket socket);

    bool wait_readable(std::chrono::milliseconds patience) const;
    bool read_more(std::chrono::milliseconds patience);  // false at the end

    int socket_ = -1;
    std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;
    std::string received_;
};

}  // namespace sluice::server_test

#endif  // SLUICE_TESTS_SERVER_CONNECTION_H_
