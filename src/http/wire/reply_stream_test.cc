// Tests replies whose bodies are sent piece by piece.
#include <chrono>
#include <deque>
#include <future>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "http/wire/test_server.h"

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

class ReplyStreams : public testing::Test {
  protected:
    void start(const WireLimits& limits = {}) {
        server_.emplace(limits);
        control_.emplace(server_->port());
    }
    void open(TestClient& client, int streams = 1) {
        client.send(get("/stream"));
        wait_until([&] { return streams_open() >= streams; });
    }
    int streams_open() { return server_->handler().stream_count.load(std::memory_order_acquire); }
    void push(std::size_t bytes) { control("/push?" + std::to_string(bytes)); }
    void control(const std::string& path) {
        control_->send(get(path));
        ASSERT_TRUE(control_->read_answer().starts_with("200"));
    }
    // Until a push finds that only `streams` are open.
    void push_until_open(int streams) {
        do {
            push(1);
        } while (streams_open() > streams);
    }

    std::optional<HttpTestServer> server_;
    std::optional<TestClient> control_;
};

TEST_F(ReplyStreams, SendTheirPiecesUntilTheHandlerEndsThem) {
    start();
    TestClient client(server_->port());
    open(client);
    push(3);
    push(2);
    control("/end");
    const std::string all = client.read_to_end();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << all;
    EXPECT_TRUE(all.ends_with("Connection: close\r\n\r\nbegun;xxxxx")) << all;
    EXPECT_EQ(all.find("Content-Length"), std::string::npos);
    wait_until([&] { return server_->counters().connections.get() == 1; });
}

TEST_F(ReplyStreams, OutliveTheTimeoutsOfAnIdleConnection) {
    start({.idle_timeout = 30ms, .write_timeout = 30ms});
    TestClient client(server_->port());
    open(client);
    std::this_thread::sleep_for(100ms);
    control_.emplace(server_->port());  // the other one was closed
    push(1);
    control("/end");
    EXPECT_TRUE(client.read_to_end().ends_with("begun;x"));
}

TEST_F(ReplyStreams, EndWhenTheClientCloses) {
    start();
    std::optional<TestClient> client(server_->port());
    open(*client);
    client.reset();
    // The connection is closed without a piece being sent.
    wait_until([&] { return server_->counters().connections.get() == 1; });
    push_until_open(0);
    EXPECT_EQ(streams_open(), 0);
}

TEST_F(ReplyStreams, IgnoreWhatTheClientSends) {
    start();
    TestClient client(server_->port());
    client.send(get("/stream") + get("/other"));
    wait_until([&] { return streams_open() == 1; });
    for (int i = 0; i < 100; ++i)
        client.send(std::string(10'000, 'y'));
    push(1);
    control("/end");
    EXPECT_TRUE(client.read_to_end().ends_with("begun;x"));
    wait_until([&] { return server_->counters().buffered.get() == 0; });
}

TEST_F(ReplyStreams, SkipPiecesForAClientThatDoesNotReadAndThenCloseIt) {
    start({.write_timeout = 300ms});
    TestClient silent(server_->port(), kSmallWindow);
    open(silent);
    TestClient reader(server_->port());
    open(reader, 2);
    auto received = std::async(std::launch::async, [&] { return reader.read_to_end(); });
    constexpr std::size_t kPiece = 100'000;
    std::int64_t most = 0;
    int pushes = 0;
    while (streams_open() == 2) {
        push(kPiece);
        ++pushes;
        most = std::max(most, server_->counters().buffered.get());
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_GT(pushes, 10);
    // One piece, however many were skipped. The other client may be late by one.
    EXPECT_LE(most, 2 * static_cast<std::int64_t>(kPiece) + 1000);
    EXPECT_EQ(server_->counters().timeouts.get(), 1);
    control("/end");
    EXPECT_GT(received.get().size(), kPiece);
}

TEST_F(ReplyStreams, EndWhenTheListenerDrains) {
    start();
    std::deque<TestClient> clients;
    for (int i = 0; i < 10; ++i) {
        clients.emplace_back(server_->port());
        open(clients.back(), i + 1);
    }
    server_->start_drain(20s);
    server_->wait_until_drained();
    for (TestClient& client : clients)
        EXPECT_TRUE(client.read_to_end().ends_with("begun;"));
}

TEST_F(ReplyStreams, OutliveTheirListener) {
    start();
    TestClient client(server_->port());
    open(client);
    server_->destroy_listener();
    EXPECT_TRUE(client.read_to_end().ends_with("begun;"));
    server_.reset();  // destroys the handler and its stream
}

}  // namespace
}  // namespace sluice::http
