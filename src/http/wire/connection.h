// One client's connection: requests in, answers out, in order.
#ifndef SLUICE_HTTP_WIRE_CONNECTION_H_
#define SLUICE_HTTP_WIRE_CONNECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http/wire/buffer_ledger.h"
#include "http/wire/head_parser.h"
#include "http/wire/pending_exchange.h"
#include "http/wire/request_reader.h"
#include "http/wire/timeout_list.h"
#include "http/wire/transport.h"

using SSL_CTX = struct ssl_ctx_st;

namespace sluice::http {

class LoopState;

// A connected socket as the kernel hands it over.
struct Accepted {
    int socket;
    SSL_CTX* tls;           // null for a plain connection
    std::string_view peer;  // the client's address
};

// Answers all requests at hand and sends their answers in one write. While answers can't leave, or
// one is still to come, nothing is read: a client that does not read is not read from either.
//
// 1. Once on_ready() has told that the socket is readable, it stays so until a read has emptied it.
// The same
//    goes for writing, where only a write can tell.
// 2. Bytes are kept in pending_ only for an unfinished request, or for one whose turn has not come.
// 3. At the end of each turn the LoopState's ledger has the memory that the connection holds.
//
// Belongs to the LoopState's timeout_list and is owned by one thread.
class Connection {
  public:
    Connection(LoopState& bench, Accepted accepted);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Creates one in `bench`, which owns it.
    static Connection* open(LoopState& bench, Accepted accepted);

    // The socket's state has changed; each may be told without being so.
    struct Readiness {
        bool readable;
        bool hung_up;  // nothing will come after what can be read
    };
    void on_ready(Readiness readiness);

    void on_turn();
    void on_answered();
    void on_timeout();
    void on_drain();

    // Answers what has come so far with an error, and closes.
    void refuse(ProtocolError error);
    // Gives up what it holds: answers with 503 where no other answer is underway, and closes.
    void shed();
    // Closes at once.
    void close();

    int socket() const { return transport_.socket(); }
    auto place() const { return place_; }

  private:
    friend class LoopState;

    void work();
    void end_turn();
    std::size_t held_bytes() const;
    void abort();
    bool is_free() const;
    bool shake_hands();
    void read_some();
    void serve(std::span<char> bytes);
    bool answer(RequestView& request);
    Progress ask_handler(RequestView& request);
    void answer_expectation(RequestView& request);
    void complete(RequestView& request) const;
    void finish_exchange();
    void write_error(const WireError& error);
    void keep(std::span<const char> rest);
    void release_pending();
    void send_output();
    bool send_unsent();
    void start_lingering();
    void discard();
    void settle(bool starts_over);

    LoopState& bench_;
    TimeoutList<std::unique_ptr<Connection>>::Place place_;
    BufferLedger<Connection>::Place share_;
    Transport transport_;
    RequestReader reader_;
    std::unique_ptr<PendingExchange> exchange_;  // while an answer is still to come
    std::string pending_;                        // bytes of requests that are not answered
    std::string unsent_;                         // bytes of answers
    std::size_t sent_ = 0;                       // of unsent_
    bool is_readable_ = false;
    bool is_hung_up_ = false;
    bool is_established_;      // TLS is
    bool has_turn_ = false;    // pending_ was not looked at to its end
    bool is_closing_ = false;  // nothing more will be answered after what is being sent
    bool is_lingering_ = false;
    bool is_closed_ = false;
    bool is_queued_ = false;  // for a turn; the loop_state's
    std::uint8_t peer_size_;
    std::array<char, 46> peer_;
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_CONNECTION_H_
