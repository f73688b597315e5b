// A client's connection on an event loop, whatever protocol it speaks: TLS handshake, unsent bytes,
// closing.
#ifndef SLUICE_HTTP_WIRE_SOCKET_CONNECTION_H_
#define SLUICE_HTTP_WIRE_SOCKET_CONNECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http/wire/loop_state.h"
#include "http/wire/tls.h"

namespace sluice::http {

// A connected non-blocking socket, with or without TLS, which it owns. No call blocks, none raises
// SIGPIPE.
class Transport {
  public:
    // kBlocked: the socket will report a change. kPaused: it will not, since there may be more to
    // read, but not at once: a TLS record had no data, or the turn is over.
    enum class Outcome { kMoved, kBlocked, kPaused, kClosed };

    struct Transfer {
        Outcome outcome;
        std::size_t bytes = 0;
        bool is_exhausted = false;  // of a read: the socket is empty for now
    };

    // Without a TLS context the connection is plain. TLS records are read while `turn` may
    // continue; it must outlive the transport.
    Transport(int socket, SSL_CTX* tls, Turn& turn, Alpn alpn = Alpn::kHttp11);
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    int socket() const { return socket_; }
    bool is_tls() const { return tls_ != nullptr; }

    // Returns the memory that TLS holds for a handshake or unread records. Its sessions,
    // about 14 KiB for each connection, are bounded by the number of connections instead.
    std::size_t buffer_bytes() const;

    // Returns kMoved when TLS is established or not used.
    Outcome handshake();

    // More may have arrived since the last read. Without this call, one that only takes what was
    // read ahead would report an empty socket.
    void expect_input() { is_drained_ = false; }
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

    // Enough for the largest record.
    static constexpr std::size_t kAheadSize = 17UL * 1024;
    using Ahead = std::array<char, kAheadSize>;

    int socket_;
    bool is_drained_ = false;  // the last read got less than requested
    bool is_empty_ = false;    // the last read got nothing
    bool is_broken_ = false;   // TLS has failed; nothing more may be sent
    SSL* tls_ = nullptr;
    Turn& turn_;
    // Bytes that were read from the socket and not given to OpenSSL yet; null: none.
    std::unique_ptr<Ahead> ahead_;
    std::span<const char> ahead_left_;
};

// A connected socket as accept4() returns it.
struct AcceptedSocket {
    int socket;
    SSL_CTX* tls;           // null for a plain connection
    std::string_view peer;  // the client's address
};

// The connections of a listener. Owned by one thread.
class Protocol {
  public:
    virtual ~Protocol() = default;

    // Offered to clients by ALPN.
    virtual Alpn alpn() const = 0;
    virtual std::unique_ptr<SocketConnection> connect(LoopState& loop, AcceptedSocket accepted) = 0;
    // Called regularly, at most a second apart, and at the times of LoopState::tick_at().
    virtual void on_tick(LoopState& loop) = 0;
};

// 1. The socket counts as readable from on_ready() until a read has emptied it, and as writable
//    until a write blocks.
// 2. While bytes can't be sent, run() is not called: a client that does not read is not read from
//    either.
// 3. At the end of each turn the LoopState's ledger has the memory that the connection holds.
// 4. A turn has the budget LoopState::turn, whatever the protocol. Where it is spent, reading
// stops,
//    and so does the protocol; the connection gets another turn, after the others.
//
// Owned by the LoopState's timeout_list; used by one thread.
class SocketConnection {
  public:
    SocketConnection(LoopState& loop, AcceptedSocket accepted, Alpn alpn);
    virtual ~SocketConnection();
    SocketConnection(const SocketConnection&) = delete;
    SocketConnection& operator=(const SocketConnection&) = delete;

    // Makes the loop own `connection`.
    static SocketConnection* open(std::unique_ptr<SocketConnection> connection);

    // The socket's state has changed. Either flag may be set spuriously.
    struct SocketEvents {
        bool readable;
        bool hung_up;  // the client has stopped sending
    };
    void on_ready(SocketEvents events);
    void on_turn();
    // Handles what has arrived, whether or not the socket has reported it.
    void poll();
    // A deferred answer is there.
    void on_answered();

    virtual void on_timeout() = 0;
    // The listener stops: completes what is in progress, then closes.
    virtual void on_drain() = 0;
    // The listener has too many connections.
    virtual void refuse() = 0;
    // Closes at once, since another connection needs its place; it has no request in progress.
    virtual void evict() = 0;
    // Frees its memory at once, by closing if necessary.
    virtual void shed() = 0;
    // Closes at once.
    void close();

    int socket() const { return transport_.socket(); }
    auto place() const { return place_; }

  protected:
    enum class PhaseTimer : bool { kContinue, kRestart };

    // Continues until the connection must wait for the socket, for an answer or for its turn. The
    // connection is established, and nothing is unsent.
    virtual void run() = 0;
    // The phase of a connection with nothing unsent.
    virtual Phase phase() const = 0;
    // The memory that the protocol holds, besides what is kept.
    virtual std::size_t held_bytes() const = 0;
    virtual void on_close() = 0;

    // Reads into loop().input, while the turn may continue. kMoved: there are bytes.
    Transport::Transfer read_input();
    // Bytes that were read and not consumed.
    std::span<char> kept() { return {kept_.data(), kept_.size()}; }
    // Appends to them, and returns them all.
    std::span<char> keep_more(std::span<const char> bytes);
    // Replaces them by `rest`, which is at their end or in loop().input.
    void keep(std::span<const char> rest);
    void release_kept();
    // Sends loop().output, keeps what the socket does not take, and lingers if is_closing_.
    void send_output();
    // Closes without delivering what the client has not received.
    void abort();
    // Updates the loop's ledger.
    void record_held_bytes();
    // Records the phase that the connection is in. A new phase always restarts the timer.
    void update_phase(PhaseTimer timer);
    void finish_writing() { transport_.finish_writing(); }

    LoopState& loop() const { return loop_; }
    std::string_view peer() const { return {peer_.data(), peer_size_}; }
    bool is_tls() const { return transport_.is_tls(); }
    bool is_closed() const { return is_closed_; }
    bool is_established() const { return is_established_; }
    bool is_lingering() const { return is_lingering_; }
    bool has_unsent() const { return !unsent_.empty(); }
    bool is_readable() const { return is_readable_; }

    bool is_closing_ = false;  // no further request will be answered

  private:
    friend class LoopState;

    void expect_input();
    void work();
    void end_turn();
    bool handshake();
    bool send_unsent();
    void start_lingering();
    void discard();

    LoopState& loop_;
    TimeoutList<std::unique_ptr<SocketConnection>>::Place place_;
    BufferLedger<SocketConnection>::Place ledger_place_;
    Transport transport_;
    std::string kept_;      // bytes of requests
    std::string unsent_;    // bytes of answers
    std::size_t sent_ = 0;  // of unsent_
    bool is_readable_ = false;
    bool is_hung_up_ = false;
    bool is_established_;  // TLS is established, or not used
    bool is_lingering_ = false;
    bool is_closed_ = false;
    bool is_queued_ = false;  // for a turn; set by LoopState
    std::uint8_t peer_size_;
    std::array<char, 46> peer_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_SOCKET_CONNECTION_H_
