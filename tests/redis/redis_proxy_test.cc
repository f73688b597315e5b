#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <poll.h>

#include "redis/echo_server.h"
#include "support/redis_proxy/proxy.h"
#include "support/redis_proxy/resp_frame.h"

namespace sluice::redis_test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;

// Long enough for a loaded machine; a test that passes never waits for it.
constexpr auto kTimeout = 30s;
// How long to wait for something that must not happen.
constexpr auto kMoment = 100ms;

std::string command(const std::vector<std::string>& words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return bytes;
}

bool eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

// A connection to the proxy that sends and receives bytes, one step at a time.
class Client {
  public:
    explicit Client(const Proxy& proxy) : socket_(loop_) {
        socket_.connect({asio::ip::address_v4::loopback(), proxy.port()});
    }

    void send(const std::string& bytes) {
        error_code ignored;
        asio::write(socket_, asio::buffer(bytes), ignored);
    }

    // The next whole reply; none if the connection ends, or nothing comes within `timeout`.
    std::optional<std::string> reply(std::chrono::milliseconds timeout = kTimeout) {
        while (true) {
            if (auto frame = take_frame(arrived_)) return frame;
            if (ended_ || !readable(timeout)) return std::nullopt;
            std::array<char, 65'536> chunk{};
            error_code failed;
            arrived_.append(chunk.data(), socket_.read_some(asio::buffer(chunk), failed));
            ended_ = bool{failed};
        }
    }
    std::optional<std::string> ask(const std::string& bytes) {
        send(bytes);
        return reply();
    }

    bool ended() const { return ended_; }
    // What came of a reply that is not whole.
    const std::string& rest() const { return arrived_; }

  private:
    bool readable(std::chrono::milliseconds timeout) {
        pollfd waiting{.fd = socket_.native_handle(), .events = POLLIN, .revents = 0};
        return poll(&waiting, 1, static_cast<int>(timeout.count())) > 0;
    }

    asio::io_context loop_;
    asio::ip::tcp::socket socket_;
    std::string arrived_;
    bool ended_ = false;
};

class ProxyTest : public testing::Test {
  protected:
    const std::string hello_ = command({"ECHO", "hello"});
    EchoServer server_;
    Proxy proxy_{{.server_port = server_.port(), .seed = 1}};
};

TEST_F(ProxyTest, PassesEverythingUnchanged) {
    Client client(proxy_);
    for (const std::string& one : {hello_, command({"SET", "x", std::string(1'000'000, '\n')})})
        EXPECT_EQ(client.ask(one), EchoServer::reply_to(one));
    EXPECT_EQ(server_.commands().size(), 2U);
}

TEST_F(ProxyTest, PassesCommandsThatComeInPiecesAndManyAtOnce) {
    Client client(proxy_);
    for (const char byte : hello_)
        client.send({byte});
    EXPECT_EQ(client.reply(), EchoServer::reply_to(hello_));
    std::string all;
    for (int i = 0; i < 1'000; ++i)
        all += command({"ECHO", std::to_string(i)});
    client.send(all);
    for (int i = 0; i < 1'000; ++i)
        ASSERT_EQ(client.reply(), EchoServer::reply_to(command({"ECHO", std::to_string(i)})));
}

TEST_F(ProxyTest, EndsConnectionsWhileTheServerIsUnavailable) {
    const Proxy nowhere({.server_port = 1, .seed = 1});
    Client client(nowhere);
    EXPECT_EQ(client.ask(hello_), std::nullopt);
    EXPECT_TRUE(client.ended());
}

TEST_F(ProxyTest, CutsBeforeACommand) {
    proxy_.set({.cut_before_command = 1});
    Client client(proxy_);
    EXPECT_EQ(client.ask(hello_), std::nullopt);
    EXPECT_TRUE(client.ended());
    ASSERT_TRUE(eventually([&] { return server_.ended() == 1; }));
    EXPECT_TRUE(server_.commands().empty());
    EXPECT_EQ(proxy_.counts().cut_before_command, 1U);
}

TEST_F(ProxyTest, CutsInTheMiddleOfACommand) {
    proxy_.set({.cut_in_command = 1});
    Client client(proxy_);
    EXPECT_EQ(client.ask(hello_), std::nullopt);
    EXPECT_TRUE(client.ended());
    ASSERT_TRUE(eventually([&] { return server_.ended() == 1; }));
    EXPECT_TRUE(server_.commands().empty());
    EXPECT_EQ(proxy_.counts().cut_in_command, 1U);
}

TEST_F(ProxyTest, CutsAfterTheServerHasDoneItAndBeforeTheReply) {
    proxy_.set({.cut_before_reply = 1});
    Client client(proxy_);
    EXPECT_EQ(client.ask(hello_), std::nullopt);
    EXPECT_TRUE(client.ended());
    EXPECT_EQ(client.rest(), "");
    EXPECT_EQ(server_.commands(), std::vector{hello_});
    EXPECT_EQ(proxy_.counts().cut_before_reply, 1U);
}

TEST_F(ProxyTest, CutsInTheMiddleOfAReply) {
    proxy_.set({.cut_in_reply = 1});
    for (int i = 0; i < 20; ++i) {
        Client client(proxy_);
        EXPECT_EQ(client.ask(hello_), std::nullopt);
        EXPECT_TRUE(client.ended());
        EXPECT_NE(client.rest(), "");
        EXPECT_TRUE(EchoServer::reply_to(hello_).starts_with(client.rest()));
    }
    EXPECT_EQ(server_.commands().size(), 20U);
    EXPECT_EQ(proxy_.counts().cut_in_reply, 20U);
}

TEST_F(ProxyTest, DelaysWithoutChangingTheOrder) {
    proxy_.set({.delay_command = 0.5, .delay_reply = 0.5, .max_delay = 5ms});
    Client client(proxy_);
    std::vector<std::string> sent;
    for (int i = 0; i < 100; ++i) {
        sent.push_back(command({"ECHO", std::to_string(i)}));
        client.send(sent.back());
    }
    for (const std::string& one : sent)
        ASSERT_EQ(client.reply(), EchoServer::reply_to(one));
    EXPECT_EQ(server_.commands(), sent);
    EXPECT_GT(proxy_.counts().delay_command, 10U);
    EXPECT_GT(proxy_.counts().delay_reply, 10U);
}

TEST_F(ProxyTest, ADelayTakesEffect) {
    proxy_.set({.delay_command = 1, .max_delay = 50ms});
    Client client(proxy_);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i)
        client.ask(hello_);
    EXPECT_GT(std::chrono::steady_clock::now() - began, 100ms);
}

TEST_F(ProxyTest, DuplicatesACommandAndDropsTheSecondReply) {
    proxy_.set({.duplicate_command = 1});
    Client client(proxy_);
    const std::string other = command({"ECHO", "other"});
    client.send(hello_ + other);
    EXPECT_EQ(client.reply(), EchoServer::reply_to(hello_));
    EXPECT_EQ(client.reply(), EchoServer::reply_to(other));
    EXPECT_EQ(client.reply(kMoment), std::nullopt);
    EXPECT_FALSE(client.ended());
    EXPECT_EQ(server_.commands(), (std::vector{hello_, hello_, other, other}));
    EXPECT_EQ(proxy_.counts().duplicate_command, 2U);
}

TEST_F(ProxyTest, SwallowsAReplyAndAllThatFollowOnThatConnection) {
    proxy_.set({.swallow_reply = 1});
    Client client(proxy_);
    client.send(hello_);
    EXPECT_EQ(client.reply(kMoment), std::nullopt);
    proxy_.stop_faults();
    client.send(hello_);
    EXPECT_EQ(client.reply(kMoment), std::nullopt);
    EXPECT_FALSE(client.ended());
    ASSERT_TRUE(eventually([&] { return server_.commands().size() == 2; }));
    EXPECT_EQ(proxy_.counts().swallow_reply, 1U);
    EXPECT_EQ(Client(proxy_).ask(hello_), EchoServer::reply_to(hello_));
}

TEST_F(ProxyTest, ReplaysAScriptOfAConnectionThatHasEnded) {
    const std::string auth = command({"AUTH", "secret"});
    const std::string script = command({"evalsha", "abc", "0"});
    {
        Client earlier(proxy_);
        earlier.ask(auth);
        earlier.ask(hello_);
        earlier.ask(script);
    }
    ASSERT_TRUE(eventually([&] { return server_.ended() == 1; }));
    proxy_.set({.max_delay = 5ms, .replay_command = 1});
    Client later(proxy_);
    EXPECT_EQ(later.ask(hello_), EchoServer::reply_to(hello_));
    ASSERT_TRUE(eventually([&] { return proxy_.counts().replay_command == 1; }));
    EXPECT_EQ(later.reply(kMoment), std::nullopt);
    std::vector<std::string> replayed;
    for (const EchoServer::Received& one : server_.received())
        if (one.connection == 2) replayed.push_back(one.command);
    EXPECT_EQ(replayed, (std::vector{auth, script}));
    EXPECT_EQ(server_.commands().size(), 6U);
}

TEST_F(ProxyTest, ReplaysNothingOfAnOpenConnection) {
    proxy_.set({.replay_command = 1});
    Client client(proxy_);
    for (int i = 0; i < 10; ++i)
        client.ask(command({"EVAL", "return 1", "0"}));
    EXPECT_EQ(server_.commands().size(), 10U);
    EXPECT_EQ(proxy_.counts().replay_command, 0U);
}

// What the proxy must never do, whatever chance has it do: answer a command with the reply to
// another one, or pass on a command that the client did not send.
TEST_F(ProxyTest, KeepsCommandsAndRepliesTogetherThroughAllFaultsAtOnce) {
    const Faults all{.cut_before_command = 0.02,
                     .cut_in_command = 0.02,
                     .cut_before_reply = 0.02,
                     .cut_in_reply = 0.02,
                     .delay_command = 0.1,
                     .delay_reply = 0.1,
                     .max_delay = 2ms,
                     .duplicate_command = 0.1,
                     .replay_command = 0.1,
                     .swallow_reply = 0.005};
    constexpr int kCommands = 2'000;
    std::optional<Client> client;
    int answered = 0;
    for (int i = 0; i < kCommands; ++i) {
        if (i % 10 == 0) proxy_.set(all);
        if (!client) client.emplace(proxy_);
        const std::string one = command({"EVALSHA", "abc", "0", std::to_string(i)});
        client->send(one);
        const auto reply = client->reply(kMoment);
        if (reply) {
            ASSERT_EQ(reply, EchoServer::reply_to(one));
            ++answered;
        } else {
            client.reset();
        }
    }
    EXPECT_GT(answered, kCommands / 2);
    for (const std::string& one : server_.commands())
        ASSERT_TRUE(one.starts_with("*4\r\n$7\r\nEVALSHA\r\n$3\r\nabc\r\n$1\r\n0\r\n"));

    const FaultCounts counts = proxy_.counts();
    for (const std::uint64_t count : {counts.cut_before_command,
                                      counts.cut_in_command,
                                      counts.cut_before_reply,
                                      counts.cut_in_reply,
                                      counts.delay_command,
                                      counts.delay_reply,
                                      counts.duplicate_command,
                                      counts.replay_command,
                                      counts.swallow_reply})
        EXPECT_GT(count, 2U);

    proxy_.stop_faults();
    const FaultCounts stopped = proxy_.counts();
    Client after(proxy_);
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(after.ask(hello_), EchoServer::reply_to(hello_));
    EXPECT_EQ(proxy_.counts().delay_command, stopped.delay_command);
}

}  // namespace
}  // namespace sluice::redis_test
