// SIGTERM while something hangs that the server uses: it exits within its drain timeout and a
// second more, compared with a server that nothing keeps.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/eventually.h"
#include "support/limit_client.h"
#include "support/mariadb_server.h"
#include "support/nats_server.h"
#include "support/nodes.h"
#include "support/redis_server.h"
#include "support/server.h"

namespace sluice::server_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using regional_test::eventually;
using regional_test::LimitClient;

constexpr std::chrono::milliseconds kDrain{2'000};
constexpr std::chrono::milliseconds kBeyond{1'000};

// How long a server takes to exit after SIGTERM, with exit code 0.
Clock::duration time_to_exit(Server& server) {
    const auto began = Clock::now();
    server.program().signal(SIGTERM);
    const Ending ending = server.program().wait(60s);
    const auto took = Clock::now() - began;
    EXPECT_EQ(ending.exit_code, 0) << ending.signal << "\n" << ending.out << ending.err;
    return took;
}

// A name that the server resolves, and whose lookups hang from a time on.
class Resolver {
  public:
    std::vector<std::string> environment() const {
        return {"LD_PRELOAD=" SLUICE_HANGING_RESOLVER, "HANGING_RESOLVER=" + file()};
    }
    void hang() const { std::ofstream(file()) << "hang"; }
    // Whether a lookup hangs.
    bool is_hung() const { return std::filesystem::exists(file() + ".hung"); }

  private:
    std::string file() const { return scratch_.path("resolver"); }

    ScratchFolder scratch_;
};

// Reads nothing and answers nothing: its backlog accepts connections.
class SilentListener {
  public:
    SilentListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(socket_, 128), 0);
        socklen_t size = sizeof address;
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
    }
    ~SilentListener() { ::close(socket_); }
    SilentListener(const SilentListener&) = delete;
    SilentListener& operator=(const SilentListener&) = delete;

    std::string port() const { return std::to_string(port_); }

  private:
    const int socket_;
    std::uint16_t port_ = 0;
};

class HungPeer : public testing::Test {
  protected:
    static ServerOptions with(std::vector<std::string> flags) {
        flags.insert(flags.end(), {"--drain-timeout", "2s"});
        return {.flags = std::move(flags)};
    }
    ServerOptions with_resolver(std::vector<std::string> flags) const {
        ServerOptions options = with(std::move(flags));
        options.environment = resolver_.environment();
        return options;
    }

    // `server` is in the state in question.
    static void expect_exit_in_time(Server& server) {
        Server idle(with({}));
        const auto usual = time_to_exit(idle);
        const auto took = time_to_exit(server);
        const auto in_ms = [](Clock::duration time) {
            return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
        };
        std::cout << "it took " << in_ms(took) << " ms, and " << in_ms(usual)
                  << " ms where nothing hangs\n";
        EXPECT_LE(took, usual + kDrain + kBeyond) << server.program().output();
    }

    void expect_hung_lookup(const Server& server) {
        EXPECT_TRUE(eventually([&] { return resolver_.is_hung(); }, 60s))
            << server.get("/metrics").body;
    }

    Resolver resolver_;
};

TEST_F(HungPeer, TheResolverOfTheXdsServer) {
    resolver_.hang();
    Server server(with_resolver({"--rules", "xds://hang.example:1?node=n"}));
    expect_hung_lookup(server);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, TheResolverOfRedis) {
    resolver_.hang();
    Server server(with_resolver({"--origin", "redis://hang.example:1"}));
    expect_hung_lookup(server);
    EXPECT_EQ(LimitClient(server).ask({.identifier = "a"}).status, 200);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, TheResolverOfTheCollector) {
    const redis_test::RedisServer redis;
    resolver_.hang();
    ServerOptions options = with_resolver({"--origin", redis.url()});
    options.config = "[trace]\nendpoint = \"http://hang.example:1/v1/traces\"\none_in = 1\n";
    Server server(std::move(options));
    EXPECT_EQ(LimitClient(server).ask({.identifier = "a"}).status, 200);
    expect_hung_lookup(server);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, TheResolverOfMysql) {
    mariadb_test::MariadbServer mariadb;
    std::string url = mariadb.url_text(mariadb.make_store().database);
    url.replace(url.find("127.0.0.1"), 9, "hang.test");
    Server server(with_resolver({"--region", "eu", "--global", url}));
    resolver_.hang();
    mariadb.kill();
    expect_hung_lookup(server);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, TheResolverOfNats) {
    const ScratchFolder scratch;
    resolver_.hang();
    Server server(with_resolver({"--region",
                                 "eu",
                                 "--global",
                                 "sqlite:" + scratch.path("g.db"),
                                 "--bus",
                                 "nats://hang.example:1"}));
    expect_hung_lookup(server);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, Redis) {
    redis_test::RedisServer redis;
    Server server(with({"--origin", redis.url()}));
    LimitClient client(server);
    EXPECT_TRUE(client.ask({.identifier = "a"}).passed);
    redis.pause();
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(client.ask({.identifier = "a"}).status, 200);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, Mysql) {
    mariadb_test::MariadbServer mariadb;
    Server server(
        with({"--region", "eu", "--global", mariadb.url_text(mariadb.make_store().database)}));
    LimitClient client(server);
    EXPECT_TRUE(client.ask({.identifier = "a"}).passed);
    mariadb.pause();
    EXPECT_TRUE(client.ask({.identifier = "b", .limit = 2}).passed);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, Nats) {
    const ScratchFolder scratch;
    nats_test::NatsServer nats;
    Server server(with(
        {"--region", "eu", "--global", "sqlite:" + scratch.path("g.db"), "--bus", nats.url()}));
    nats.pause();
    EXPECT_TRUE(LimitClient(server).ask({.identifier = "a", .limit = 2}).passed);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, TheCollector) {
    const redis_test::RedisServer redis;
    const SilentListener collector;
    ServerOptions options = with({"--origin", redis.url()});
    options.config =
        "[trace]\nendpoint = \"http://127.0.0.1:" + collector.port() + "/v1/traces\"\none_in = 1\n";
    Server server(std::move(options));
    EXPECT_EQ(LimitClient(server).ask({.identifier = "a"}).status, 200);
    expect_exit_in_time(server);
}

TEST_F(HungPeer, TheXdsServer) {
    const SilentListener xds;
    Server server(with({"--rules", "xds://127.0.0.1:" + xds.port() + "?node=n"}));
    expect_exit_in_time(server);
}

// The limit on the size of files stands in for a disk without space.
TEST_F(HungPeer, AFullDiskDoesNotUseUpTheDrain) {
    const ScratchFolder scratch;
    const rlimit small{.rlim_cur = 200'000, .rlim_max = RLIM_INFINITY};
    rlimit usual{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    ServerOptions options{.flags = {"--data-dir", scratch.path("data"), "--drain-timeout", "60s"}};
    Server server(std::move(options));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
    LimitClient client(server);
    int number = 0;
    ASSERT_TRUE(eventually([&] {
        for (int i = 0; i < 50; ++i)
            EXPECT_EQ(client.ask({.identifier = "key" + std::to_string(++number)}).status, 200);
        return server.get("/metrics").body.find("\nsluice_origin_unavailable 1\n") !=
               std::string::npos;
    })) << server.program().output();
    EXPECT_LT(time_to_exit(server), 20s) << "it waits until the disk has space";
}

}  // namespace
}  // namespace sluice::server_test
