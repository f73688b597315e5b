// One client's connection: reads requests, has them answered, sends the answers in order.
#ifndef SLUICE_HTTP_WIRE_CONNECTION_H_
#define SLUICE_HTTP_WIRE_CONNECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http/wire/exchange.h"
#include "http/wire/loop_state.h"
#include "http/wire/request_reader.h"
#include "http/wire/transport.h"

using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

// A connected socket as accept4() returns it.
struct AcceptedSocket {
    int socket;
    SSL_CTX* tls;           // null for a plain connection
    std::string_view peer;  // the client's address
};

// Answers all requests that have arrived and sends their answers in one write. While answers can't
// be sent, or one is deferred, nothing is read: a client that does not read is not read from
// either.
//
// 1. The socket counts as readable from on_ready() until a read has emptied it, and as writable
//    until a write blocks.
// 2. pending_ holds bytes only of an unfinished request, or of requests that wait for a turn.
// 3. At the end of each turn the LoopState's ledger has the memory that the connection holds.
//
// Owned by the LoopState's timeout_list; used by one thread.
class Connection {
  public:
    Connection(LoopState& loop, AcceptedSocket accepted);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Creates a connection that `loop` owns.
    static Connection* open(LoopState& loop, AcceptedSocket accepted);

    // The socket's state has changed. Either flag may be set spuriously.
    struct SocketEvents {
        bool readable;
        bool hung_up;  // the client has stopped sending
    };
    void on_ready(SocketEvents events);

    void on_turn();
    void on_answered();
    void on_timeout();
    void on_drain();

    // Answers with an error and closes.
    void refuse(ProtocolError error);
    // Frees its memory: answers with 503 if no other answer is in progress, and closes.
    void shed();
    // Closes at once.
    void close();

    int socket() const { return transport_.socket(); }
    auto place() const { return place_; }

  private:
    friend class LoopState;

    enum class PhaseTimer : bool { kContinue, kRestart };

    void work();
    void end_turn();
    std::size_t held_bytes() const;
    void abort();
    bool is_free() const;
    bool handshake();
    void read_some();
    void serve(std::span<char> bytes);
    bool answer(RequestView& request);
    HandlerResult call_handler(RequestView& request);
    void answer_expectation(RequestView& request);
    void set_connection_facts(RequestView& request) const;
    void finish_exchange();
    void write_error(const WireError& error);
    void keep(std::span<const char> rest);
    void release_pending();
    void send_output();
    bool send_unsent();
    void start_lingering();
    void discard();
    void update_phase(PhaseTimer timer);

    LoopState& loop_;
    TimeoutList<std::unique_ptr<Connection>>::Place place_;
    BufferLedger<Connection>::Place ledger_place_;
    Transport transport_;
    RequestReader reader_;
    std::unique_ptr<PendingExchange> exchange_;  // while an answer is deferred
    std::string pending_;                        // bytes of unanswered requests
    std::string unsent_;                         // bytes of answers
    std::size_t sent_ = 0;                       // of unsent_
    bool is_readable_ = false;
    bool is_hung_up_ = false;
    bool is_established_;      // TLS is established, or not used
    bool has_turn_ = false;    // pending_ may hold complete requests
    bool is_closing_ = false;  // no further request will be answered
    bool is_lingering_ = false;
    bool is_closed_ = false;
    bool is_queued_ = false;  // for a turn; set by LoopState
    std::uint8_t peer_size_;
    std::array<char, 46> peer_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_CONNECTION_H_
