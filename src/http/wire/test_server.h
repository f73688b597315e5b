// For tests: a listener on loopback, a handler whose behaviour depends on the path, and a client.
#ifndef SLUICE_HTTP_WIRE_TEST_SERVER_H_
#define SLUICE_HTTP_WIRE_TEST_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "http/wire/exchange.h"
#include "http/wire/listener.h"

namespace sluice::http {

// Answers "METHOD path?query body" with status 200, except for these paths:
//     /later    the same, but after handle() has returned
//     /at-once  the same, by a completion that is called within handle()
//     /held     on a request for /finish; dropped on one for /forget
//     /dropped  never: the completion is dropped
//     /count    the number of requests so far, with this one
//     /throw    throws
//     /big      8 MiB
//     /page     64 KiB
//     /closed   403 in check_head()
//     /stream   a stream that begins with "begun;"
//     /push?N   sends N bytes to all streams afterwards; the body is the number of those open
//     /end      ends all streams afterwards
class FakeHandler : public Handler {
  public:
    explicit FakeHandler(boost::asio::io_context& context) : context_(context) {}

    HandlerResult handle(const RequestView& request, Reply& reply, Completion later) override;
    bool check_head(const RequestView& request, Reply& reply) override;
    void protocol_error(const WireError& error, Reply& reply) override;

    // Written by the server's thread, read by tests that wait for it.
    std::atomic<int> held_count{0};
    std::atomic<int> stream_count{0};  // that were open after the last /stream, /push or /end

  private:
    boost::asio::io_context& context_;
    void push(std::string_view piece);

    int requests_ = 0;
    std::vector<Completion> held_;
    std::vector<ReplyStream> streams_;
};

class HttpTestServer {
  public:
    explicit HttpTestServer(const WireLimits& limits = {},
                            std::shared_ptr<const TlsSlot> tls = nullptr);
    ~HttpTestServer();

    std::uint16_t port() const { return port_; }
    const WireCounters& counters() const { return listener_->counters(); }
    FakeHandler& handler() { return handler_; }

    // Runs `act` on the server's thread.
    void post(std::function<void()> act);
    // Returns at once; wait_until_drained() blocks.
    void start_drain(std::chrono::milliseconds timeout);
    void wait_until_drained();
    // Destroys the listener while its io_context runs on.
    void destroy_listener();

  private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    FakeHandler handler_;
    std::unique_ptr<Listener> listener_;
    std::uint16_t port_ = 0;
    std::atomic<bool> is_drained_{false};
    std::thread thread_;
};

// Keeps the thread of a server busy, so that what clients send meanwhile is there all at once.
class BusyThread {
  public:
    // Returns when the thread is busy.
    template <class Server>
    explicit BusyThread(Server& server) {
        server.post([state = state_] {
            state->is_busy.store(true, std::memory_order_release);
            state->is_busy.notify_all();
            state->is_released.wait(false, std::memory_order_acquire);
        });
        state_->is_busy.wait(false, std::memory_order_acquire);
    }

    void release() {
        state_->is_released.store(true, std::memory_order_release);
        state_->is_released.notify_all();
    }

  private:
    struct State {
        std::atomic<bool> is_busy{false};      // written by the server's thread
        std::atomic<bool> is_released{false};  // written by the test
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

// A blocking client. Reads give up after 20 seconds.
class TestClient {
  public:
    // `window` is the size of its receive buffer; 0 leaves that to the system.
    explicit TestClient(std::uint16_t port, int window = 0);
    ~TestClient();
    TestClient(const TestClient&) = delete;
    TestClient& operator=(const TestClient&) = delete;

    int socket() const { return socket_; }
    void send(std::string_view bytes);
    void finish_sending();

    // The next answer as "STATUS body"; "closed" at the end of the connection.
    std::string read_answer();
    // The head of that answer.
    const std::string& head() const { return head_; }
    // Everything up to the end of the connection.
    std::string read_to_end();

  private:
    bool fill();

    int socket_;
    std::string buffer_;
    std::string head_;
};

// Spins until another thread has made `condition` true.
template <class Condition>
void wait_until(Condition condition) {
    while (!condition())
        std::this_thread::yield();
}

// A receive buffer that holds little of an unread answer.
inline constexpr int kSmallWindow = 4096;

inline std::string get(std::string_view path, std::string_view fields = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

inline std::string post(std::string_view path, std::string_view body) {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

}  // namespace sluice::http

#endif  // SLUICE_HTTP_WIRE_TEST_SERVER_H_
