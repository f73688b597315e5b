// An origin that can't be used: the server starts, decides from local counts, and logs the reason.
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/held_cells.h"
#include "support/http_answer.h"
#include "support/limit_client.h"
#include "support/nodes.h"
#include "support/redis_server.h"

namespace sluice::regional_test {
namespace {

using namespace std::chrono_literals;
using redis_test::RedisServer;
using redis_test::RedisServerOptions;
using server_test::Server;
namespace asio = boost::asio;
using asio::ip::tcp;

// Whatever it is sent, this server says the same once and then listens on.
class Stranger {
  public:
    enum class Says { kHttp, kItsInput, kNothing };

    explicit Stranger(Says says) : says_(says), acceptor_(loop_, tcp::endpoint(kHome, 0)) {
        port_ = acceptor_.local_endpoint().port();
        accept();
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~Stranger() {
        loop_.stop();
        thread_.join();
    }
    std::uint16_t port() const { return port_; }

  private:
    struct Guest {
        explicit Guest(tcp::socket connected) : socket(std::move(connected)) {}
        tcp::socket socket;
        std::array<char, 4096> received{};
        std::string answer;
    };

    void accept() {
        acceptor_.async_accept([this](boost::system::error_code failed, tcp::socket socket) {
            if (failed) return;
            listen(std::make_shared<Guest>(std::move(socket)));
            accept();
        });
    }

    void listen(const std::shared_ptr<Guest>& guest) {
        guest->socket.async_read_some(
            asio::buffer(guest->received),
            [this, guest](boost::system::error_code failed, std::size_t size) {
                if (failed) return;
                if (says_ == Says::kItsInput) guest->answer.assign(guest->received.data(), size);
                if (says_ == Says::kHttp)
                    guest->answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
                asio::async_write(guest->socket,
                                  asio::buffer(guest->answer),
                                  [this, guest](boost::system::error_code unsent, std::size_t) {
                                      if (!unsent) listen(guest);
                                  });
            });
    }

    static inline const asio::ip::address kHome = asio::ip::address_v4::loopback();
    const Says says_;
    asio::io_context loop_;
    tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

std::string local_url(std::uint16_t port) {
    return "redis://127.0.0.1:" + std::to_string(port);
}

boost::json::value degraded(const Server& server) {
    return server_test::expect_data(server.get("/readyz")).at("degraded");
}

bool is_back(const Server& server) {
    return degraded(server) == server_test::json("[]");
}

// Expects that it is ready, and decides by itself.
void expect_alone(const Server& server) {
    EXPECT_EQ(degraded(server), server_test::json(R"(["origin"])"));
    EXPECT_EQ(server_test::sum_of(server.get("/metrics").body, "sluice_origin_unavailable"), 1);
    LimitClient client(server);
    for (int i = 0; i < 3; ++i) {
        const LimitResult result = client.ask({.identifier = "alice", .limit = 2});
        EXPECT_EQ(result.status, 200) << result.body;
        EXPECT_EQ(result.passed, i < 2);
        EXPECT_LT(result.took, 1s);
    }
}

void expect_logged(Server& server, std::string_view why) {
    EXPECT_TRUE(eventually([&] {
        const std::string log = server.program().output();
        const std::size_t line = log.find("origin_unavailable");
        return line != std::string::npos && log.find(why, line) != std::string::npos;
    })) << "not logged: "
        << why << "\n"
        << server.program().output();
}

// Two passed while it was alone.
void expect_flushed(RedisServer& redis, const Server& server) {
    EXPECT_TRUE(eventually([&] { return is_back(server); }));
    EXPECT_TRUE(eventually([&] { return total_of(redis, "alice") == 2; }));
}

TEST(UnusableOrigin, IsUsedOnceItListens) {
    RedisServer redis;
    redis.kill();
    Server server(sharing(redis.url()));
    expect_alone(server);
    expect_logged(server, "connection refused");
    redis.start();
    expect_flushed(redis, server);
}

TEST(UnusableOrigin, AWrongPasswordIsLoggedAndCanBeFixed) {
    RedisServer redis(RedisServerOptions{.password = "right"});
    Server server(sharing("redis://:wrong@127.0.0.1:" + std::to_string(redis.port())));
    expect_alone(server);
    expect_logged(server, "logging in failed");
    expect_logged(server, "WRONGPASS");
    redis.command({"CONFIG", "SET", "requirepass", "wrong"});
    expect_flushed(redis, server);
}

TEST(UnusableOrigin, AMissingPasswordIsLoggedAndCanBeFixed) {
    RedisServer redis(RedisServerOptions{.password = "right"});
    Server server(sharing(local_url(redis.port())));
    expect_alone(server);
    expect_logged(server, "NOAUTH");
    redis.command({"CONFIG", "SET", "requirepass", ""});
    expect_flushed(redis, server);
}

TEST(UnusableOrigin, ADatabaseOutOfRangeIsLogged) {
    RedisServer redis;
    Server server(sharing(redis.url() + "/99"));
    expect_alone(server);
    expect_logged(server, "it has no database 99");
}

TEST(UnusableOrigin, AnHttpServerIsLogged) {
    const Stranger stranger(Stranger::Says::kHttp);
    Server server(sharing(local_url(stranger.port())));
    expect_alone(server);
    expect_logged(server, "does not speak the Redis protocol");
}

TEST(UnusableOrigin, AnEchoServerIsRejected) {
    const Stranger stranger(Stranger::Says::kItsInput);
    Server server(sharing(local_url(stranger.port())));
    expect_alone(server);
    expect_logged(server, "is it Redis?");
}

TEST(UnusableOrigin, ASilentServerDelaysNothing) {
    const Stranger stranger(Stranger::Says::kNothing);
    Server server(sharing(local_url(stranger.port()), {"--origin-timeout", "300ms"}));
    expect_alone(server);
    expect_logged(server, "within");
}

TEST(UnusableOrigin, ACertificateForAnotherNameIsLogged) {
    RedisServer redis(RedisServerOptions{.tls = true, .tls_name = "redis.example"});
    const std::string port = std::to_string(redis.tls_port());
    Server server(
        sharing("rediss://localhost:" + port, {"--origin-tls-ca", redis.certificate().cert}));
    expect_alone(server);
    expect_logged(server, "ertificate");
    // By a name that the certificate has.
    const Server right(
        sharing("rediss://127.0.0.1:" + port, {"--origin-tls-ca", redis.certificate().cert}));
    EXPECT_TRUE(eventually([&] { return is_back(right); }));
}

TEST(UnusableOrigin, ACertificateOfAnUnknownAuthorityIsLogged) {
    RedisServer redis(RedisServerOptions{.tls = true});
    Server server(sharing("rediss://127.0.0.1:" + std::to_string(redis.tls_port())));
    expect_alone(server);
    expect_logged(server, "ertificate");
}

TEST(UnusableOrigin, ARedisWithoutTlsIsLogged) {
    RedisServer redis;
    Server server(sharing("rediss://127.0.0.1:" + std::to_string(redis.port())));
    expect_alone(server);
    expect_logged(server, "TLS");
}

TEST(UnusableOrigin, AReadOnlyRedisIsLoggedAndCanBeFixed) {
    RedisServer redis(RedisServerOptions{.acl = "alice on >secret ~* +@read"});
    Server server(sharing("redis://alice:secret@127.0.0.1:" + std::to_string(redis.port())));
    expect_alone(server);
    expect_logged(server, "NOPERM");
    redis.command({"ACL", "SETUSER", "alice", "+@all"});
    expect_flushed(redis, server);
}

}  // namespace
}  // namespace sluice::regional_test
