// A real redis-server, started for a test.
#ifndef SLUICE_TESTS_SUPPORT_REDIS_SERVER_H_
#define SLUICE_TESTS_SUPPORT_REDIS_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/server.h"

struct redisContext;

namespace sluice::redis_test {

// A reply of Redis.
struct Reply {
    enum class Type { kNothing, kText, kNumber, kList, kError };
    Type type = Type::kNothing;
    std::string text;  // of a text or an error
    std::int64_t number = 0;
    std::vector<Reply> list;
};

struct RedisServerOptions {
    std::string password = {};  // of the default user; empty: none
    std::string acl = {};       // one rule, as in "alice on >secret ~* +@all"
    bool tls = false;           // on tls_port(), with a certificate for tls_name and 127.0.0.1
    std::string tls_name = "localhost";
    bool cluster = false;
    std::string sentinel = {};  // lines of a Sentinel's configuration; empty: a data server
    std::vector<std::string> flags = {};  // appended, as in {"--maxmemory", "1mb"}
};

// One server on free ports of 127.0.0.1 and on a unix socket. It keeps nothing on disk. SIGKILL
// ends it with this object at the latest. Owned by one thread.
class RedisServer {
  public:
    // Started and ready for commands; throws, with the server's log, if it fails to start.
    explicit RedisServer(RedisServerOptions options = {});
    ~RedisServer();
    RedisServer(const RedisServer&) = delete;
    RedisServer& operator=(const RedisServer&) = delete;

    std::uint16_t port() const { return port_; }
    std::uint16_t tls_port() const { return tls_port_; }
    std::string socket_path() const { return scratch_->path("redis.sock"); }
    // The certificate that it serves TLS with, which is also the one that signed it.
    const server_test::Certificate& certificate() const { return certificate_; }
    std::string url() const;  // redis://[:password@]127.0.0.1:PORT

    // Starts it again after kill(), on the same ports, and waits until it is ready. It is empty.
    void start();
    // Ends it by SIGKILL, as a crash would.
    void kill();
    void restart_empty();
    // Makes every BGSAVE fail, also for root.
    void block_snapshots();
    // Stops it by SIGSTOP and waits until it stands still. Connections are accepted by the kernel,
    // and nothing is answered.
    void pause() { process_.pause(); }
    void resume() { process_.resume(); }

    // Sends one command as the default user, and returns the reply; throws if there is none.
    Reply command(const std::vector<std::string>& words);
    // Makes the next command open a new connection: a Sentinel closes those to a server whose role
    // it changes.
    void disconnect();

  private:
    void choose_ports();
    bool becomes_ready();
    void add_user();
    bool connect();
    std::vector<std::string> arguments() const;

    RedisServerOptions options_;
    std::unique_ptr<server_test::ScratchFolder> scratch_;
    server_test::Certificate certificate_;
    std::uint16_t port_ = 0;
    std::uint16_t tls_port_ = 0;
    server_test::PeerProcess process_;
    redisContext* client_ = nullptr;
};

}  // namespace sluice::redis_test

#endif  // SLUICE_TESTS_SUPPORT_REDIS_SERVER_H_
