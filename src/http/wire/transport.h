// Bytes to and from one client, with or without TLS.
#ifndef SLUICE_HTTP_WIRE_TRANSPORT_H_
#define SLUICE_HTTP_WIRE_TRANSPORT_H_

#include <cstddef>
#include <span>
#include <string_view>

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

// A connected non-blocking socket, which it owns. Nothing here waits, and nothing raises SIGPIPE.
class Transport {
  public:
    enum class Outcome { kMoved, kBlocked, kClosed };

    struct Moved {
        Outcome outcome;
        std::size_t bytes = 0;
        bool is_exhausted = false;  // of a read: the socket holds no more for now
    };

    // Without a TLS context the connection is plain.
    Transport(int socket, SSL_CTX* tls);
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    int socket() const { return socket_; }
    bool is_tls() const { return tls_ != nullptr; }

    // Memory that TLS holds for a handshake or an unfinished record. Its sessions, some 14 KiB for
    // each connection, are bounded by the number of connections instead.
    std::size_t buffer_bytes() const;

    // kMoved when TLS is established, which a plain connection is from the start.
    Outcome shake_hands();

    Moved read(std::span<char> to);
    Moved write(std::string_view from);

    // Makes the close discard what the client has not taken in yet, instead of leaving it to the
    // kernel to deliver.
    void reset_on_close() const;

    // Says that nothing more will be written.
    void finish_writing();
    // Reads what the client still sends, below TLS, and forgets it.
    Moved discard(std::span<char> scratch);

  private:
    friend struct SocketBio;

    Outcome tls_outcome(int result);

    int socket_;
    bool is_drained_ = false;  // the last read from the socket got less than it asked for
    bool is_broken_ = false;   // TLS has failed, nothing more may be sent through it
    SSL* tls_ = nullptr;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TRANSPORT_H_
