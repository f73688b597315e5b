// For tests: a gRPC listener on loopback, and a client on a socket.
#ifndef SLUICE_GRPC_TEST_SERVER_H_
#define SLUICE_GRPC_TEST_SERVER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "grpc/connection.h"
#include "grpc/test_peer.h"
#include "http/wire/listener.h"
#include "http/wire/test_server.h"

namespace sluice::grpc {

// /test.Echo/Say repeats its message, with these exceptions:
//     later   is answered by another thread
//     held    is answered after release_held()
//     page    is answered with 64 KiB
//     count   is answered with the number of calls so far, with this one
// /test.Echo/Repeat repeats each message.
class GrpcTestServer {
  public:
    struct Options {
        http::WireLimits limits{};
        SessionLimits session{};
        ConnectionAge age{};
    };
    GrpcTestServer() : GrpcTestServer(Options{}) {}
    explicit GrpcTestServer(const Options& options);
    ~GrpcTestServer();

    std::uint16_t port() const { return port_; }
    const http::WireCounters& counters() const { return listener_->counters(); }
    const SessionCounters& session_counters() const { return context_.counters; }

    int held() const { return held_count_.load(std::memory_order_acquire); }
    void release_held();
    // Runs `act` on the server's thread.
    void post(std::function<void()> act);
    void start_drain(std::chrono::milliseconds timeout);
    bool is_drained() const { return is_drained_.load(std::memory_order_acquire); }

  private:
    void say(UnaryCall& call);

    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    MethodRegistry methods_;
    SessionContext context_{.methods = methods_};
    std::unique_ptr<http::Listener> listener_;
    std::uint16_t port_ = 0;
    int calls_ = 0;                        // of the server's thread
    std::vector<Completion> held_;         // of the server's thread
    std::vector<std::thread> answering_;   // of the server's thread
    std::atomic<int> held_count_{0};       // written by the server's thread, read by tests
    std::atomic<bool> is_drained_{false};  // the same
    std::thread thread_;
};

// A TestPeer on a socket. Reads give up after 20 seconds.
class TestConnection {
  public:
    // `window` is that of streams, `buffer` the size of the socket's receive buffer; 0: as usual.
    explicit TestConnection(std::uint16_t port, std::uint32_t window = 65'535, int buffer = 0)
        : peer_(window), socket_(port, buffer) {
        flush();
    }

    TestPeer& peer() { return peer_; }
    void flush() { socket_.send(peer_.take_output()); }
    // Reads once and answers. False at the end of the connection.
    bool read();
    // Reads until the response is complete, or the connection ends.
    const TestResponse& finish(std::int32_t stream);
    TestResponse call(const TestRequest& request);
    // Reads to the end of the connection.
    void read_to_end() {
        while (read()) {
        }
    }

  private:
    TestPeer peer_;
    http::TestClient socket_;
};

}  // namespace sluice::grpc

#endif  // SLUICE_GRPC_TEST_SERVER_H_
