// A client's socket, with or without TLS.
#ifndef SLUICE_HTTP_WIRE_TRANSPORT_H_
#define SLUICE_HTTP_WIRE_TRANSPORT_H_

#include <cstddef>
#include <span>
#include <string_view>

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

// The protocol that a client must offer if it uses ALPN.
enum class Alpn : bool { kHttp11, kH2 };

// Owns a connected non-blocking socket. No call blocks, none raises SIGPIPE.
class Transport {
  public:
    enum class Outcome { kMoved, kBlocked, kClosed };

    struct Transfer {
        Outcome outcome;
        std::size_t bytes = 0;
        bool is_exhausted = false;  // of a read: the socket is empty for now
    };

    // Without a TLS context the connection is plain.
    Transport(int socket, SSL_CTX* tls, Alpn alpn = Alpn::kHttp11);
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    int socket() const { return socket_; }
    bool is_tls() const { return tls_ != nullptr; }

    // Returns the memory that TLS holds for a handshake or an unfinished record. Its sessions,
    // about 14 KiB for each connection, are bounded by the number of connections instead.
    std::size_t buffer_bytes() const;

    // Returns kMoved when TLS is established or not used.
    Outcome handshake();

    Transfer read(std::span<char> to);
    Transfer write(std::string_view from);

    // Makes the close discard unsent bytes, instead of leaving them to the kernel to deliver.
    void reset_on_close() const;

    // Shuts down the sending side.
    void finish_writing();
    // Reads and drops what the client still sends, below TLS.
    Transfer discard(std::span<char> scratch);

  private:
    friend struct SocketBio;

    Outcome tls_outcome(int result);

    int socket_;
    bool is_drained_ = false;  // the last read got less than requested
    bool is_broken_ = false;   // TLS has failed; nothing more may be sent
    SSL* tls_ = nullptr;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TRANSPORT_H_
