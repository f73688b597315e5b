#include "http/client/fetch.h"

#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

// A server for one connection, which reads one head, sends `answer` and closes; without an answer,
// it waits until the client is gone.
class OneAnswer {
  public:
    explicit OneAnswer(std::optional<std::string> answer)
        : answer_(std::move(answer)), thread_([this] { serve(); }) {}
    ~OneAnswer() { join(); }
    OneAnswer(const OneAnswer&) = delete;
    OneAnswer& operator=(const OneAnswer&) = delete;

    FetchRequest request() const {
        return {.host = "127.0.0.1",
                .port = std::to_string(acceptor_.local_endpoint().port()),
                .authority = "limits.test",
                .path = "/v1/traces"};
    }
    std::string received() {
        join();
        return received_;
    }

  private:
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    void serve() {
        tcp::socket socket(loop_);
        boost::system::error_code failed;
        acceptor_.accept(socket, failed);
        boost::asio::read_until(socket, boost::asio::dynamic_buffer(received_), "\r\n\r\n", failed);
        if (answer_) {
            boost::asio::write(socket, boost::asio::buffer(*answer_), failed);
            return;
        }
        char byte = 0;
        while (!failed)
            socket.read_some(boost::asio::buffer(&byte, 1), failed);
    }

    const std::optional<std::string> answer_;
    std::string received_;
    boost::asio::io_context loop_;
    tcp::acceptor acceptor_{loop_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
    std::thread thread_;
};

TEST(Fetch, SendsARequestAndReturnsTheResponse) {
    OneAnswer server("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 5\r\n\r\nlater");
    FetchRequest post = server.request();
    post.method = "POST";
    post.headers = {{"Accept", "application/json"}};
    post.body = "{}";
    const auto response = fetch(post, 5s);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->status, 429);
    EXPECT_EQ(response->body, "later");
    EXPECT_TRUE(server.received().starts_with(
        "POST /v1/traces HTTP/1.1\r\nHost: limits.test\r\nConnection: close\r\n"
        "Accept: application/json\r\nContent-Length: 2\r\n\r\n"))
        << server.received();
}

TEST(Fetch, ReadsChunksAndBodiesThatEndWithTheConnection) {
    OneAnswer chunked(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    EXPECT_EQ(fetch(chunked.request(), 5s)->body, "abcde");
    OneAnswer open("HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, 'x'));
    EXPECT_EQ(fetch(open.request(), 5s)->body.size(), 100'000U);
}

std::string error_of(std::optional<std::string> answer, std::chrono::milliseconds timeout = 5s) {
    OneAnswer server(std::move(answer));
    const auto response = fetch(server.request(), timeout, nullptr, 1'000);
    return response ? "none" : response.error().message;
}

TEST(Fetch, AnErrorNamesTheServerAndTheStep) {
    EXPECT_EQ(error_of(std::nullopt, 50ms), "limits.test: no response: timed out");
    EXPECT_EQ(error_of(""), "limits.test: no response: end of stream") << "not a 200";
    EXPECT_EQ(error_of("SSH-2.0-OpenSSH_9.2\r\n"), "limits.test: no response: bad version");
    EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"),
              "limits.test: no response: partial message");
    EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"),
              "limits.test: no response: body limit exceeded");
    FetchRequest unreachable{
        .host = "127.0.0.1", .port = "1", .authority = "limits.test", .path = "/"};
    EXPECT_EQ(fetch(unreachable, 5s).error().message,
              "limits.test: can't connect: Connection refused");
    unreachable.port = "http";
    EXPECT_FALSE(fetch(unreachable, 5s));
}

}  // namespace
}  // namespace sluice::http
