// gRPC connections on an event loop.
#ifndef SLUICE_GRPC_CONNECTION_H_
#define SLUICE_GRPC_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/jitter.h"
#include "grpc/server_session.h"
#include "http/wire/socket_connection.h"

namespace sluice::grpc {

class Connection;

// How long connections live. Other times are those of http::WireLimits.
struct ConnectionAge {
    std::chrono::milliseconds most{0};        // drained after half of it to all of it; 0: never
    std::chrono::milliseconds grace{30'000};  // for calls in progress
};

// gRPC over HTTP/2: with prior knowledge, or by ALPN with TLS.
//
// Owned by one thread; the context's counters may be read by any.
class GrpcProtocol final : public http::Protocol {
  public:
    // The context must outlive the protocol.
    GrpcProtocol(SessionContext& context, ConnectionAge age, std::uint64_t seed);
    ~GrpcProtocol() override;

    http::Alpn alpn() const override { return http::Alpn::kH2; }
    std::unique_ptr<http::SocketConnection> connect(http::LoopState& loop,
                                                    http::AcceptedSocket accepted) override;
    void on_tick(http::LoopState& loop) override;

  private:
    friend class Connection;
    using Alarms = std::multimap<std::chrono::milliseconds, Connection*>;

    void on_alarms(Alarms& alarms, std::chrono::milliseconds now, void (Connection::*act)());

    SessionContext& context_;
    const ConnectionAge age_;
    Jitter jitter_;
    Alarms alarms_;     // of the states of connections
    Alarms deadlines_;  // the first of each connection's calls
    Alarms awaited_;    // looks for incomplete requests that are overdue
};

// Sends the answers that are there, then handles calls that have arrived and sends their answers,
// until there are none or the turn is over. While bytes can't be sent, or answers wait for the next
// turn, nothing is read.
class Connection final : public http::SocketConnection {
  public:
    Connection(GrpcProtocol& grpc, http::LoopState& loop, http::AcceptedSocket accepted);
    ~Connection() override;

    void on_timeout() override;
    void on_drain() override;
    void refuse() override;
    void evict() override;
    void shed() override;
    // The time of set_alarm() has come.
    void on_alarm();
    // The first deadline of a call has passed.
    void on_deadline();
    // Incomplete requests may be overdue.
    void on_awaited_alarm();

  private:
    // A state ends with an alarm, if not before.
    enum class State : std::uint8_t {
        kServing,    // until the connection's age
        kAnnounced,  // until the client has acknowledged the announcement
        kDraining,   // until the calls in progress have ended; once old, for `grace` at most
    };

    void run() override;
    http::Phase phase() const override;
    std::size_t held_bytes() const override;
    void on_close() override;

    bool can_write() const { return !is_closed() && !has_unsent() && !is_closing_; }
    void serve(std::string_view bytes);
    void flush();
    void announce_drain();
    void start_drain();
    void set_alarm(std::chrono::milliseconds after);
    void clear_alarm();
    void update_deadline();
    void clear_deadline();
    void set_awaited_alarm();
    void clear_awaited_alarm();
    void update_deferred();

    GrpcProtocol& grpc_;
    ServerSession session_;
    GrpcProtocol::Alarms::iterator alarm_;
    GrpcProtocol::Alarms::iterator deadline_;
    GrpcProtocol::Alarms::iterator awaited_alarm_;
    // When it has reached its age; none: never.
    std::optional<std::chrono::milliseconds> old_at_;
    State state_ = State::kServing;
    bool is_old_ = false;            // has reached its age
    bool is_broken_ = false;         // nothing more is read; what is left is sent
    std::size_t deferred_ = 0;       // as counted in the loop
    std::uint64_t ended_calls_ = 0;  // when the phase's timer was last restarted
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_CONNECTION_H_
