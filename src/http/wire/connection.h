// An HTTP/1.1 connection: reads requests, has them answered, sends the answers in order.
#ifndef SLUICE_HTTP_WIRE_CONNECTION_H_
#define SLUICE_HTTP_WIRE_CONNECTION_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/wire/exchange.h"
#include "http/wire/request_reader.h"
#include "http/wire/socket_connection.h"

namespace sluice::http {

// HTTP/1.1, and what its connections share: scratch memory of the one that has its turn, and
// exchanges for reuse.
//
// Owned by one thread.
class HttpProtocol final : public Protocol {
  public:
    explicit HttpProtocol(Handler& request_handler) : handler(request_handler) {}

    Alpn alpn() const override { return Alpn::kHttp11; }
    std::unique_ptr<SocketConnection> connect(LoopState& loop, AcceptedSocket accepted) override;
    void on_tick(LoopState& /*loop*/) override {}

    std::unique_ptr<PendingExchange> take_exchange();
    void return_exchange(std::unique_ptr<PendingExchange> exchange);

    Handler& handler;
    ReplyWriter writer;
    RequestView request;

  private:
    std::vector<std::unique_ptr<PendingExchange>> exchanges_;
};

// Answers all requests that have arrived and sends their answers in one write. While answers can't
// be sent, or one is deferred, nothing is read.
//
// While a reply is streamed, what the client sends is discarded; its end closes the connection.
//
// Bytes are kept only of an unfinished request, or of requests that wait for a turn.
class Connection final : public SocketConnection {
  public:
    Connection(HttpProtocol& http, LoopState& loop, AcceptedSocket accepted);
    ~Connection() override;

    void on_timeout() override;
    void on_drain() override;
    void refuse() override;
    void evict() override;
    // Answers with 503 if no other answer is in progress, and closes.
    void shed() override;

    // Sends a piece of a streamed reply, or skips it while an earlier one is unsent. False: the
    // connection has closed. Not to be called while any connection has its turn.
    bool send_piece(std::string_view piece);

  private:
    void run() override;
    Phase phase() const override;
    std::size_t held_bytes() const override;
    void on_close() override;

    // Answers with an error and closes.
    void refuse(ProtocolError error);
    bool is_free() const;
    bool read_some();
    void serve(std::span<char> bytes);
    bool answer(RequestView& request);
    HandlerResult call_handler(RequestView& request);
    void answer_expectation(RequestView& request);
    void start_stream();
    void discard_input();
    void set_connection_facts(RequestView& request) const;
    void finish_exchange();
    void write_error(const WireError& error);

    HttpProtocol& http_;
    RequestReader reader_;
    std::unique_ptr<PendingExchange> exchange_;  // while an answer is deferred
    bool has_turn_ = false;                      // what is kept may hold complete requests
    bool has_requests_ = false;                  // a request was complete
    bool is_streaming_ = false;                  // the head of a streamed reply was written
};

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_CONNECTION_H_
